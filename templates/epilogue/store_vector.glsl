//: Stores one vector of sums to C: as a whole where ldc, the offset and n allow it, else element by
//: element.
#include "epilogue/c.glsl"

void store_elements(uint c_index, uint columns, RESULT_C sum, uint row, uint column) {
  [[unroll]] for (uint w = 0; w < VECTOR_WIDTH_C; ++w)
    if (w < columns) {
      RESULT old = RESULT(0);
      if (beta != 0.0) old = RESULT(beta) * load_c(c_index + w);  // at beta 0 C may hold NaN
#if VECTOR_WIDTH_C == 1
      store_c(c_index, finish(sum, old, row, column));
#else
      store_c(c_index + w, finish(sum[w], old, row, column + w));
#endif
    }
}

void store_vector(bool whole, RESULT_C sum, uint row, uint column) {
  const uint c_index = offset_c + row * ldc + column;
  if (whole) {
    RESULT_C old = RESULT_C(0);
    if (beta != 0.0) old = RESULT(beta) * load_c_vector(c_index);
    store_c_vector(c_index, finish(sum, old, row, column));
  } else if (column < n) {
    store_elements(c_index, n - column, sum, row, column);
  }
}
