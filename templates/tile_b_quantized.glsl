// A quantised B: a fetch is a word of values along k of one column, which are widened on their way
// into shared memory.
#include "quantized.glsl"

const uint B_WORDS = TILE_K / PER_WORD;  // in a column of the tile
uint b_next[TILE_N * B_WORDS / LOCAL_SIZE];
float b_scale[TILE_N * B_WORDS / LOCAL_SIZE], b_zero[TILE_N * B_WORDS / LOCAL_SIZE];
uint b_count[TILE_N * B_WORDS / LOCAL_SIZE];  // steps before k ends

void fetch_tile_b(uint column0, uint k0) {
  const uint blocks = ldb / BLOCK;
  [[unroll]] for (uint l = 0; l < TILE_N * B_WORDS / LOCAL_SIZE; ++l) {
    const uint v = gl_LocalInvocationIndex + l * LOCAL_SIZE;
    const uint row = offset_b / ldb + clamp_index(column0 + v / B_WORDS, n - 1);
    const uint step = k0 + v % B_WORDS * PER_WORD;
    b_count[l] = step < k ? k - step : 0;
    const uint at = offset_b % ldb + (step < k ? step : 0);
    b_next[l] = word_of(fetch_words((row * ldb + at) / PER_WORD), 0);
    b_scale[l] = fetch_scale(row * blocks + at / BLOCK);
    b_zero[l] = zero_of(row, at / BLOCK, blocks);
  }
}

void put_tile_b(uint stage) {
  [[unroll]] for (uint l = 0; l < TILE_N * B_WORDS / LOCAL_SIZE; ++l) {
    const uint v = gl_LocalInvocationIndex + l * LOCAL_SIZE;
    [[unroll]] for (uint u = 0; u < PER_WORD; ++u)
      put_b(stage, v % B_WORDS * PER_WORD + u, v / B_WORDS,
            ELEMENT(u < b_count[l] ? value_of(b_next[l], u, b_zero[l]) * b_scale[l] : 0.0));
  }
}
