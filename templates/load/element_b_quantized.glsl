// One element at a time (family naive) of a quantised B.
#include "load/quantized.glsl"

// The invocation's row of B as stored, and the step of k within that row at which its
// split of k begins.
uint b_row, b_first_step;
void begin_b(uint j) {
  b_row = offset_b / ldb + j;
  b_first_step = offset_b % ldb;
}
ELEMENT element_b(uint p, uint j) {
  const uint step = b_first_step + p;
  const uint word = word_at(fetch_words((b_row * ldb + step) / VALUES_PER_WORD), 0);
  const uint block = step / QUANT_BLOCK, blocks = ldb / QUANT_BLOCK;
  const float value =
      value_minus_zero_point(word, step % VALUES_PER_WORD, zero_point_of(b_row, block, blocks));
  return ELEMENT(value * fetch_scale(b_row * blocks + block));
}
