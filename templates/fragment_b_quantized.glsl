// A quantised B: a load is WORDS_WIDTH words along k of one column of op(B). Scales wait until the
// products of a block are added (multiply_quantized.glsl). VECTOR_C is ELEMENT.
#include "quantized.glsl"

const uint SCALED = UNROLL_K < BLOCK ? UNROLL_K : BLOCK;  // steps of a trip under one scale
uint b_row[REG_N];  // row of B as stored
uint b_first;       // step of k at which this part begins
ELEMENT b_fragment[REG_N][UNROLL_K];
ELEMENT b_scale[REG_N][UNROLL_K / SCALED];

void begin_b(uint column) {
  b_first = offset_b % ldb;
  [[unroll]] for (uint j = 0; j < REG_N; ++j)
    b_row[j] = offset_b / ldb + clamp_index(column + column_at(j), n - 1);
}

void load_b(uint k0) {
  const uint blocks = ldb / BLOCK;
  [[unroll]] for (uint j = 0; j < REG_N; ++j) {
    const uint first = (b_row[j] * ldb + b_first + k0) / (PER_WORD * WORDS_WIDTH);
    WORDS words[UNROLL_K / (PER_WORD * WORDS_WIDTH)];
    [[unroll]] for (uint i = 0; i < UNROLL_K / (PER_WORD * WORDS_WIDTH); ++i)
      words[i] = fetch_words(first + i);
    [[unroll]] for (uint s = 0; s < UNROLL_K / SCALED; ++s) {
      const uint block = (b_first + k0) / BLOCK + s;
      const float zero = zero_of(b_row[j], block, blocks);
      b_scale[j][s] = ELEMENT(fetch_scale(b_row[j] * blocks + block));
      [[unroll]] for (uint u = 0; u < SCALED; ++u) {
        const uint step = s * SCALED + u;
        const uint word =
            word_of(words[step / (PER_WORD * WORDS_WIDTH)], step / PER_WORD % WORDS_WIDTH);
        b_fragment[j][step] = ELEMENT(value_of(word, step % PER_WORD) - zero);
      }
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
    const uint word = word_of(fetch_words(index / WORDS_WIDTH), index % WORDS_WIDTH);
    const float zero = zero_of(b_row[j], block, blocks);
    b_scale[j][0] = ELEMENT(fetch_scale(b_row[j] * blocks + block));
    [[unroll]] for (uint u = 0; u < TAIL_K; ++u)
      b_fragment[j][u] = ELEMENT(value_of(word, u) - zero);
  }
}
