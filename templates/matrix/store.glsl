// Stores the sums of matrix.comp. Which elements of a fragment an invocation holds is the driver's
// choice, so each fragment goes through shared memory, from which the subgroup stores vectors of C.
#include "epilogue/store_vector.glsl"

shared ELEMENT c_tile[SUBGROUPS_M * SUBGROUPS_N][MATRIX_M * MATRIX_N];

void store_fragment(uvec2 tile, uint row, uint column) {
  const bool vectors = columns_inside(tile) && (ldc | offset_c) % VECTOR_WIDTH_C == 0;
  [[dont_unroll]] for (uint v = gl_SubgroupInvocationID; v < MATRIX_M * MATRIX_N / VECTOR_WIDTH_C;
                       v += SUBGROUP_SIZE) {
    const uint first = v * VECTOR_WIDTH_C;
    const uint to_row = row + first / MATRIX_N, to_column = column + first % MATRIX_N;
    if (to_row >= m) break;
    RESULT_C sum;
    [[unroll]] for (uint w = 0; w < VECTOR_WIDTH_C; ++w)
      sum[w] = RESULT(c_tile[gl_SubgroupID][first + w]);
    store_vector(vectors, sum, to_row, to_column);
  }
}

void store_sums(uvec2 tile, uint row, uint column) {
  [[unroll]] for (uint i = 0; i < FRAGMENTS_M; ++i)
    [[unroll]] for (uint j = 0; j < FRAGMENTS_N; ++j) {
      store_shared_c(c_tile[gl_SubgroupID][0], sums[i][j], BY_ROWS, MATRIX_N, 40, WORKGROUP_SCOPE);
      subgroupBarrier();
      store_fragment(tile, row + i * MATRIX_M, column + j * MATRIX_N);
      subgroupBarrier();
    }
}
