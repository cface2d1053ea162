//: Tiles of a quantised B, stored n x k: an invocation fetches words of values along k of one
//: column, which are dequantised to float16 on the way to shared memory and fill one vector each
//: there. Values beyond k are arbitrary finite numbers, since A is zero there.
//:
//: QUANT_BITS, QUANT_BLOCK, ZERO_POINT  what words hold (load/quantized.glsl)
//: VECTOR_WIDTH_B                       words of float16 pairs that a word of values becomes
//: STAGES                               tiles in shared memory
//: STORE_ROWS_B, STORE_STEP_B           in which order invocations store columns
#include "load/quantized.glsl"

// The values of a word, as float16.
VECTOR_B dequantized(uint word, float scale, float zero_point) {
  VECTOR_B halves;
  [[unroll]] for (uint i = 0; i < VALUES_PER_WORD; i += 2)
    halves[i / 2] = packHalf2x16(vec2(value_minus_zero_point(word, i, zero_point),
                                      value_minus_zero_point(word, i + 1, zero_point)) * scale);
  return halves;
}

const uint B_WORDS = TILE_K / VALUES_PER_WORD;  // in a column of the tile
const uint B_LOADS = TILE_N * B_WORDS;
const uint B_LOADS_EACH = (B_LOADS + LOCAL_SIZE - 1) / LOCAL_SIZE;
#if STORE_STEP_B > 1
#define position_b(l) row_position(l, B_LOADS, B_WORDS, STORE_ROWS_B, STORE_STEP_B)
#else
#define position_b(l) load_position(l, B_LOADS, B_WORDS)
#endif
shared SHARED_VECTOR b_tile[STAGES][TILE_N * SHARED_STRIDE];
uint b_next[B_LOADS_EACH];
float b_scale[B_LOADS_EACH], b_zero_point[B_LOADS_EACH];
uint b_column[B_LOADS_EACH];  // of the buffer, whose columns are ldb values
uint b_tile_start;  // first step of the next tile

void begin_tiles_b(uint column0) {
  b_tile_start = offset_b % ldb;
  [[unroll]] for (uint l = 0; l < B_LOADS_EACH; ++l)
    b_column[l] = offset_b / ldb + clamp_index(column0 + position_b(l).x, n - 1);
}

// The word with a step of the buffer of load l's column, and the scale and zero point of its block.
void fetch_word_b(uint l, uint step) {
  const uint value = b_column[l] * ldb + step;
  b_next[l] = word_at(fetch_words(value / VALUES_PER_WORD), 0);
  b_scale[l] = fetch_scale(value / QUANT_BLOCK);
  b_zero_point[l] = zero_point_of(b_column[l], step / QUANT_BLOCK, ldb / QUANT_BLOCK);
}

uint step_of_b(uint l) { return position_b(l).y * VALUES_PER_WORD; }

void fetch_tile_b() {
  [[unroll]] for (uint l = 0; l < B_LOADS_EACH; ++l)
    fetch_word_b(l, b_tile_start + step_of_b(l));
  b_tile_start += TILE_K;
}

void fetch_last_tile_b(uint k0) {
  [[unroll]] for (uint l = 0; l < B_LOADS_EACH; ++l) {
    const uint step = k0 + step_of_b(l);
    fetch_word_b(l, b_tile_start + (step < k ? step : 0));
  }
}

void put_tile_b(uint stage) {
  [[unroll]] for (uint l = 0; l < B_LOADS_EACH; ++l) {
#if !WHOLE_LOADS_B
    if (!has_load(l, B_LOADS)) break;
#endif
    const uvec2 at = position_b(l);
    const VECTOR_B halves = dequantized(b_next[l], b_scale[l], b_zero_point[l]);
#if VECTOR_WIDTH_B == SHARED_WORDS
    put_shared(b_tile[stage][at.x * SHARED_STRIDE + at.y], halves);
#else
    [[unroll]] for (uint w = 0; w < VECTOR_WIDTH_B; ++w) {
      const uint to = at.y * VECTOR_WIDTH_B + w;  // in words of a column
      put_word(word_in(b_tile[stage][at.x * SHARED_STRIDE + to / SHARED_WORDS], to),
               word_of(halves, w));
    }
#endif
  }
}

#define fragment_b(stage, step, column)                                                  \
  coopMatLoadSharedB(b_tile[stage], (column) * SHARED_STRIDE + (step) / SHARED_ELEMENTS, \
                     CooperativeMatrixLayoutColumnMajor, SHARED_STRIDE, NonPrivate)
