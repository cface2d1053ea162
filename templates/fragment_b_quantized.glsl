// A quantised B: a load is WORDS_WIDTH words along k of one column of op(B). Values leave their words
// where they are multiplied, scales wait until the products of a block are added
// (multiply_quantized.glsl). VECTOR_C is ELEMENT.
#include "quantized.glsl"

const uint SCALED = UNROLL_K < BLOCK ? UNROLL_K : BLOCK;  // steps of a trip under one scale
const uint PER_LOAD = PER_WORD * WORDS_WIDTH;
uint b_row[REG_N];  // row of B as stored
uint b_first;       // step of k at which this part begins
WORDS b_words[REG_N][UNROLL_K / PER_LOAD];
float b_scale[REG_N][UNROLL_K / SCALED], b_zero[REG_N][UNROLL_K / SCALED];

void begin_b(uint column) {
  b_first = offset_b % ldb;
  [[unroll]] for (uint j = 0; j < REG_N; ++j)
    b_row[j] = offset_b / ldb + clamp_index(column + column_at(j), n - 1);
}

void load_b(uint k0) {
  const uint blocks = ldb / BLOCK;
  [[unroll]] for (uint j = 0; j < REG_N; ++j) {
    [[unroll]] for (uint i = 0; i < UNROLL_K / PER_LOAD; ++i)
      b_words[j][i] = fetch_words((b_row[j] * ldb + b_first + k0) / PER_LOAD + i);
    [[unroll]] for (uint s = 0; s < UNROLL_K / SCALED; ++s) {
      const uint block = (b_first + k0) / BLOCK + s;
      b_scale[j][s] = fetch_scale(b_row[j] * blocks + block);
      b_zero[j][s] = zero_of(b_row[j], block, blocks);
    }
  }
}

// TAIL_K steps, a word of them. What fills a row's last block from k on is multiplied by zeros of A
// before the scale comes, so it may be anything.
void load_b_tail(uint k0) {
  const uint blocks = ldb / BLOCK;
  const uint block = (b_first + k0) / BLOCK;
  [[unroll]] for (uint j = 0; j < REG_N; ++j) {
    const uint index = (b_row[j] * ldb + b_first + k0) / PER_WORD;
    b_words[j][0] = WORDS(word_of(fetch_words(index / WORDS_WIDTH), index % WORDS_WIDTH));
    b_scale[j][0] = fetch_scale(b_row[j] * blocks + block);
    b_zero[j][0] = zero_of(b_row[j], block, blocks);
  }
}

float b_value(uint u, uint j) {
  const uint word = word_of(b_words[j][u / PER_LOAD], u / PER_WORD % WORDS_WIDTH);
  return value_of(word, u % PER_WORD, b_zero[j][u / SCALED]);
}
