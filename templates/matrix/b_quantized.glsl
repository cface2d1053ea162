// B is quantised, stored n x k: a fetch takes a word of values along k of one column, which are
// dequantised to float16 as they are written to shared memory and fill one vector there. Values
// beyond k are arbitrary finite numbers, since A is zero there.
#include "load/quantized.glsl"

const uint B_WORDS = TILE_K / VALUES_PER_WORD;  // in a column of the tile
const uint B_STRIDE = (TILE_K + SHARED_PAD) / VALUES_PER_WORD;
const uint B_LOADS = TILE_N * B_WORDS;
const uint B_LOADS_PER_INVOCATION = (B_LOADS + LOCAL_SIZE - 1) / LOCAL_SIZE;
shared VECTOR_B b_tile[STAGES][TILE_N * B_STRIDE];
uint b_next[B_LOADS_PER_INVOCATION];
float b_scale[B_LOADS_PER_INVOCATION], b_zero_point[B_LOADS_PER_INVOCATION];

void fetch_tile_b(uint column0, uint k0) {
  const uint blocks = ldb / QUANT_BLOCK;
  [[unroll]] for (uint l = 0; l < B_LOADS_PER_INVOCATION; ++l) {
    const uint v = gl_LocalInvocationIndex + l * LOCAL_SIZE;
    if (B_LOADS % LOCAL_SIZE != 0 && v >= B_LOADS) break;
    const uint row = offset_b / ldb + clamp_index(column0 + v / B_WORDS, n - 1);
    const uint step = k0 + v % B_WORDS * VALUES_PER_WORD;
    const uint stored_step = offset_b % ldb + (step < k ? step : 0);
    b_next[l] = word_at(fetch_words((row * ldb + stored_step) / VALUES_PER_WORD), 0);
    b_scale[l] = fetch_scale(row * blocks + stored_step / QUANT_BLOCK);
    b_zero_point[l] = zero_point_of(row, stored_step / QUANT_BLOCK, blocks);
  }
}

float b_value(uint l, uint i) {
  return value_minus_zero_point(b_next[l], i, b_zero_point[l]) * b_scale[l];
}

void put_tile_b(uint stage) {
  [[unroll]] for (uint l = 0; l < B_LOADS_PER_INVOCATION; ++l) {
    const uint v = gl_LocalInvocationIndex + l * LOCAL_SIZE;
    if (B_LOADS % LOCAL_SIZE != 0 && v >= B_LOADS) break;
    VECTOR_B halves;
    [[unroll]] for (uint i = 0; i < VALUES_PER_WORD; i += 2)
      halves[i / 2] = packHalf2x16(vec2(b_value(l, i), b_value(l, i + 1)));
    b_tile[stage][v / B_WORDS * B_STRIDE + v % B_WORDS] = halves;
  }
}

#define fragment_b(stage, step, column)                                                    \
  load_shared_b(b_tile[stage][(column)*B_STRIDE + (step) / VALUES_PER_WORD], BY_COLUMNS, B_STRIDE, \
                48, WORKGROUP_SCOPE)
