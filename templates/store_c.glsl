// From sums to C.
#include "store_vector.glsl"

// A loop at run time over rows, which moves the next row of sums to the front. Unrolled, the
// store of 32 x 16 sums takes lavapipe 22.3 15 s to compile instead of 0.2 s; indexing sums by a
// variable would take them out of registers.
void store_sums(uvec2 tile, uint row, uint column) {
  const bool vectors = columns_inside(tile) && (ldc | offset_c) % VECTOR_WIDTH_C == 0;
  [[dont_unroll]] for (uint i = 0; i < REG_M && row + row_at(i) < m; ++i) {
    [[unroll]] for (uint j = 0; j < REG_N / VECTOR_WIDTH_C; ++j)
      store_vector(vectors, RESULT_C(sums[0][j]), row + row_at(i), column + column_at(j));
    [[unroll]] for (uint next = 1; next < REG_M; ++next)
      [[unroll]] for (uint j = 0; j < REG_N / VECTOR_WIDTH_C; ++j)
        sums[next - 1][j] = sums[next][j];
  }
}
