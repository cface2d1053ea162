// A vector of sums to C: whole where ldc and the offset allow it, else by elements.
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

void store_vector(bool whole, RESULT_C sum, uint row, uint column) {
  const uint target = offset_c + row * ldc + column;
  if (whole) {
    RESULT_C old = RESULT_C(0);
    if (beta != 0.0) old = RESULT(beta) * load_c_vector(target);
    store_c_vector(target, finish(sum, old, row, column));
  } else if (column < n) {
    store_elements(target, n - column, sum, row, column);
  }
}
