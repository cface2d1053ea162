#include "quantized.glsl"

// Where this part of B begins: its first row, and its first step of k.
uint b_row, b_first;
void begin_b(uint j) {
  b_row = offset_b / ldb + j;
  b_first = offset_b % ldb;
}
ELEMENT element_b(uint p, uint j) {
  const uint step = b_first + p;
  const uint word = word_of(fetch_words((b_row * ldb + step) / PER_WORD), 0);
  const uint block = step / BLOCK, blocks = ldb / BLOCK;
  const float value = value_of(word, step % PER_WORD, zero_of(b_row, block, blocks));
  return ELEMENT(value * fetch_scale(b_row * blocks + block));
}
