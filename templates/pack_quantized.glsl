// The stored operand is quantised: values of one row lie along depth, four of them in a word.
#include "quantized.glsl"

vec4 read_four(uint address, uint count) {
  const uint row = address / ld, step = address % ld;
  const uint index = address / PER_WORD;
  const uint word = word_of(fetch_words(index / WORDS_WIDTH), index % WORDS_WIDTH);
  const uint block = step / BLOCK, blocks = ld / BLOCK;
  const float scale = fetch_scale(row * blocks + block), zero = zero_of(row, block, blocks);
  vec4 x;
  [[unroll]] for (uint i = 0; i < 4; ++i) x[i] = value_of(word, step % PER_WORD + i, zero) * scale;
  return keep(x, count);
}
