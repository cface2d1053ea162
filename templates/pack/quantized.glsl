// The stored operand is a quantised B: a word holds the values of one row along depth. Reads four
// of one word.
#include "load/quantized.glsl"

vec4 read_four(uint address, uint count) {
  const uint row = address / ld, step = address % ld;
  const uint index = address / VALUES_PER_WORD;
  const uint word = word_at(fetch_words(index / WORD_VECTOR_WIDTH), index % WORD_VECTOR_WIDTH);
  const uint block = step / QUANT_BLOCK, blocks = ld / QUANT_BLOCK;
  const float scale = fetch_scale(row * blocks + block), zero = zero_point_of(row, block, blocks);
  vec4 x;
  [[unroll]] for (uint i = 0; i < 4; ++i)
    x[i] = value_minus_zero_point(word, step % VALUES_PER_WORD + i, zero) * scale;
  return keep_first(x, count);
}
