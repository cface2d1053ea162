// B is quantised: a fetch takes a word of values along k of one column, which are dequantised as
// they are written to shared memory.
#include "load/quantized.glsl"

const uint B_WORDS = TILE_K / VALUES_PER_WORD;  // in a column of the tile
uint b_next[TILE_N * B_WORDS / LOCAL_SIZE];
float b_scale[TILE_N * B_WORDS / LOCAL_SIZE], b_zero_point[TILE_N * B_WORDS / LOCAL_SIZE];
uint b_count[TILE_N * B_WORDS / LOCAL_SIZE];  // values of the word that lie before the end of k

void fetch_tile_b(uint column0, uint k0) {
  const uint blocks = ldb / QUANT_BLOCK;
  [[unroll]] for (uint l = 0; l < TILE_N * B_WORDS / LOCAL_SIZE; ++l) {
    const uint v = gl_LocalInvocationIndex + l * LOCAL_SIZE;
    const uint row = offset_b / ldb + clamp_index(column0 + v / B_WORDS, n - 1);
    const uint step = k0 + v % B_WORDS * VALUES_PER_WORD;
    b_count[l] = step < k ? k - step : 0;
    const uint stored_step = offset_b % ldb + (step < k ? step : 0);
    b_next[l] = word_at(fetch_words((row * ldb + stored_step) / VALUES_PER_WORD), 0);
    b_scale[l] = fetch_scale(row * blocks + stored_step / QUANT_BLOCK);
    b_zero_point[l] = zero_point_of(row, stored_step / QUANT_BLOCK, blocks);
  }
}

void put_tile_b(uint stage) {
  [[unroll]] for (uint l = 0; l < TILE_N * B_WORDS / LOCAL_SIZE; ++l) {
    const uint v = gl_LocalInvocationIndex + l * LOCAL_SIZE;
    [[unroll]] for (uint u = 0; u < VALUES_PER_WORD; ++u)
      put_b(stage, v % B_WORDS * VALUES_PER_WORD + u, v / B_WORDS,
            ELEMENT(u < b_count[l]
                        ? value_minus_zero_point(b_next[l], u, b_zero_point[l]) * b_scale[l]
                        : 0.0));
  }
}
