// B is quantised: a load takes WORD_VECTOR_WIDTH words along k of one column of op(B). Values are
// unpacked where they are multiplied, and scales are applied to the sum over a block
// (fragment/multiply_quantized.glsl). VECTOR_C is ELEMENT.
#include "load/quantized.glsl"

// Steps of an iteration that share a scale.
const uint STEPS_PER_SCALE = UNROLL_K < QUANT_BLOCK ? UNROLL_K : QUANT_BLOCK;
const uint VALUES_PER_LOAD = VALUES_PER_WORD * WORD_VECTOR_WIDTH;
uint b_row[REG_N];  // rows of B as stored
uint b_first_step;  // step of k at which this workgroup's split of k begins
WORD_VECTOR b_words[REG_N][UNROLL_K / VALUES_PER_LOAD];
float b_scale[REG_N][UNROLL_K / STEPS_PER_SCALE], b_zero_point[REG_N][UNROLL_K / STEPS_PER_SCALE];

void begin_b(uint column) {
  b_first_step = offset_b % ldb;
  [[unroll]] for (uint j = 0; j < REG_N; ++j)
    b_row[j] = offset_b / ldb + clamp_index(column + column_offset(j), n - 1);
}

void load_b(uint k0) {
  const uint blocks = ldb / QUANT_BLOCK;
  [[unroll]] for (uint j = 0; j < REG_N; ++j) {
    [[unroll]] for (uint i = 0; i < UNROLL_K / VALUES_PER_LOAD; ++i)
      b_words[j][i] = fetch_words((b_row[j] * ldb + b_first_step + k0) / VALUES_PER_LOAD + i);
    [[unroll]] for (uint s = 0; s < UNROLL_K / STEPS_PER_SCALE; ++s) {
      const uint block = (b_first_step + k0) / QUANT_BLOCK + s;
      b_scale[j][s] = fetch_scale(b_row[j] * blocks + block);
      b_zero_point[j][s] = zero_point_of(b_row[j], block, blocks);
    }
  }
}

// TAIL_K steps from k0 on, which are one word. Values beyond k in a row's last block are multiplied
// by zeros of A before the scale is applied, so they may be anything.
void load_b_tail(uint k0) {
  const uint blocks = ldb / QUANT_BLOCK;
  const uint block = (b_first_step + k0) / QUANT_BLOCK;
  [[unroll]] for (uint j = 0; j < REG_N; ++j) {
    const uint index = (b_row[j] * ldb + b_first_step + k0) / VALUES_PER_WORD;
    b_words[j][0] =
        WORD_VECTOR(word_at(fetch_words(index / WORD_VECTOR_WIDTH), index % WORD_VECTOR_WIDTH));
    b_scale[j][0] = fetch_scale(b_row[j] * blocks + block);
    b_zero_point[j][0] = zero_point_of(b_row[j], block, blocks);
  }
}

float b_value(uint u, uint j) {
  const uint word =
      word_at(b_words[j][u / VALUES_PER_LOAD], u / VALUES_PER_WORD % WORD_VECTOR_WIDTH);
  return value_minus_zero_point(word, u % VALUES_PER_WORD, b_zero_point[j][u / STEPS_PER_SCALE]);
}
