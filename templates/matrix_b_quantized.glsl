// A quantised B, n x k: a fetch is a word of values along k of one column, which become half
// precision on their way into shared memory: as many as a vector there holds. Beyond k they are any
// finite numbers: A is zero there.
#include "quantized.glsl"

const uint B_WORDS = TILE_K / PER_WORD;  // in a column of the tile
const uint B_STRIDE = (TILE_K + SHARED_PAD) / PER_WORD;
const uint B_LOADS = TILE_N * B_WORDS;
const uint B_TURNS = (B_LOADS + LOCAL_SIZE - 1) / LOCAL_SIZE;
shared VECTOR_B b_tile[STAGES][TILE_N * B_STRIDE];
uint b_next[B_TURNS];
float b_scale[B_TURNS], b_zero[B_TURNS];

void fetch_tile_b(uint column0, uint k0) {
  const uint blocks = ldb / BLOCK;
  [[unroll]] for (uint l = 0; l < B_TURNS; ++l) {
    const uint v = gl_LocalInvocationIndex + l * LOCAL_SIZE;
    if (B_LOADS % LOCAL_SIZE != 0 && v >= B_LOADS) break;
    const uint row = offset_b / ldb + clamp_index(column0 + v / B_WORDS, n - 1);
    const uint step = k0 + v % B_WORDS * PER_WORD;
    const uint at = offset_b % ldb + (step < k ? step : 0);
    b_next[l] = word_of(fetch_words((row * ldb + at) / PER_WORD), 0);
    b_scale[l] = fetch_scale(row * blocks + at / BLOCK);
    b_zero[l] = zero_of(row, at / BLOCK, blocks);
  }
}

float b_value(uint l, uint i) {
  return value_of(b_next[l], i, b_zero[l]) * b_scale[l];
}

void put_tile_b(uint stage) {
  [[unroll]] for (uint l = 0; l < B_TURNS; ++l) {
    const uint v = gl_LocalInvocationIndex + l * LOCAL_SIZE;
    if (B_LOADS % LOCAL_SIZE != 0 && v >= B_LOADS) break;
    VECTOR_B halves;
    [[unroll]] for (uint i = 0; i < PER_WORD; i += 2)
      halves[i / 2] = packHalf2x16(vec2(b_value(l, i), b_value(l, i + 1)));
    b_tile[stage][v / B_WORDS * B_STRIDE + v % B_WORDS] = halves;
  }
}

#define fragment_b(stage, step, column)                                                    \
  load_shared_b(b_tile[stage][(column)*B_STRIDE + (step) / PER_WORD], BY_COLUMNS, B_STRIDE, \
                48, WORKGROUP_SCOPE)
