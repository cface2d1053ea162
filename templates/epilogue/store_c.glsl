//: Stores an invocation's sums to C (families register, tiled, broadcast, vector).
#include "epilogue/store_vector.glsl"

// The loop over rows is not unrolled: lavapipe 22.3 needs 15 s to compile an unrolled store of 32 x
// 16 sums, and 0.2 s for this loop. Each iteration stores row 0 of the sums and moves the others up
// by one, since an index that is no constant would force the sums out of registers.
void store_sums(uvec2 tile, uint row, uint column) {
  const bool vectors = columns_inside(tile) && (ldc | offset_c) % VECTOR_WIDTH_C == 0;
  [[dont_unroll]] for (uint i = 0; i < REG_M && row + row_offset(i) < m; ++i) {
    [[unroll]] for (uint j = 0; j < REG_N / VECTOR_WIDTH_C; ++j)
      store_vector(vectors, RESULT_C(sums[0][j]), row + row_offset(i), column + column_offset(j));
    [[unroll]] for (uint next = 1; next < REG_M; ++next)
      [[unroll]] for (uint j = 0; j < REG_N / VECTOR_WIDTH_C; ++j)
        sums[next - 1][j] = sums[next][j];
  }
}
