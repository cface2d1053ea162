// From sums to C: vectors where ldc and the offset allow it.
#include "c_f32.glsl"

void store_elements(uint target, uint columns, RESULT_C sum, uint row, uint column) {
  [[unroll]] for (uint w = 0; w < VECTOR_WIDTH_C; ++w)
    if (w < columns) {
      RESULT old = RESULT(0);
      if (beta != 0.0) old = RESULT(beta) * load_c(target + w);  // beta 0: C may hold NaN
#if VECTOR_WIDTH_C == 1
      store_c(target, finish(sum, old, row, column));
#else
      store_c(target + w, finish(sum[w], old, row, column + w));
#endif
    }
}

// A loop at run time over rows, which moves the next row of sums to the front. Unrolled, the
// store of 32 x 16 sums takes lavapipe 22.3 15 s to compile instead of 0.2 s; indexing sums by a
// variable would take them out of registers.
void store_sums(uvec2 tile, uint row, uint column) {
  const bool vectors = columns_inside(tile) && (ldc | offset_c) % VECTOR_WIDTH_C == 0;
  [[dont_unroll]] for (uint i = 0; i < REG_M && row + row_at(i) < m; ++i) {
    [[unroll]] for (uint j = 0; j < REG_N / VECTOR_WIDTH_C; ++j) {
      const uint to_column = column + column_at(j);
      const uint target = offset_c + (row + row_at(i)) * ldc + to_column;
      const RESULT_C sum = RESULT_C(sums[0][j]);
      if (vectors) {
        RESULT_C old = RESULT_C(0);
        if (beta != 0.0) old = RESULT(beta) * load_c_vector(target);
        store_c_vector(target, finish(sum, old, row + row_at(i), to_column));
      } else if (to_column < n) {
        store_elements(target, n - to_column, sum, row + row_at(i), to_column);
      }
    }
    [[unroll]] for (uint next = 1; next < REG_M; ++next)
      [[unroll]] for (uint j = 0; j < REG_N / VECTOR_WIDTH_C; ++j)
        sums[next - 1][j] = sums[next][j];
  }
}
