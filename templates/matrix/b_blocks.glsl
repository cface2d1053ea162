//: Tiles of a B that is stored in blocks: an invocation fetches four values along k of one column,
//: which are dequantised to float16 on the way to shared memory and fill one vector there. Values
//: beyond k are arbitrary finite numbers, since A is zero there.
//:
//: BLOCK_FORMAT                what blocks hold (load/blocks.glsl)
//: STAGES                      tiles in shared memory
//: STORE_ROWS_B, STORE_STEP_B  in which order invocations store columns
#include "load/blocks.glsl"

const uint B_QUADS = TILE_K / 4;  // in a column of the tile
const uint B_LOADS = TILE_N * B_QUADS;
const uint B_LOADS_EACH = (B_LOADS + LOCAL_SIZE - 1) / LOCAL_SIZE;
#if STORE_STEP_B > 1
#define position_b(l) row_position(l, B_LOADS, B_QUADS, STORE_ROWS_B, STORE_STEP_B)
#else
#define position_b(l) load_position(l, B_LOADS, B_QUADS)
#endif
shared SHARED_VECTOR b_tile[STAGES][TILE_N * SHARED_STRIDE];
uint b_next[B_LOADS_EACH];
vec2 b_scale[B_LOADS_EACH];
uint b_row[B_LOADS_EACH];  // first byte of a column of op(B)
uint b_tile_start;  // first step of the next tile

void begin_tiles_b(uint column0) {
  b_tile_start = offset_b % ldb;
  [[unroll]] for (uint l = 0; l < B_LOADS_EACH; ++l) {
    const uint column = clamp_index(column0 + position_b(l).x, n - 1);
    b_row[l] = (offset_b / ldb + column) * (ldb / BLOCK) * BLOCK_BYTES;
  }
}

void fetch_values_b(uint l, uint step) {
  const uint block = step / BLOCK * BLOCK_BYTES, group = step % BLOCK / 16;
  b_next[l] = group_values_word(b_row[l], block, group, step % 16 / 4);
  b_scale[l] = group_scale(b_row[l], block, group, 0);
}

uint step_of_b(uint l) { return position_b(l).y * 4; }

void fetch_tile_b() {
  [[unroll]] for (uint l = 0; l < B_LOADS_EACH; ++l)
    fetch_values_b(l, b_tile_start + step_of_b(l));
  b_tile_start += TILE_K;
}

void fetch_last_tile_b(uint k0) {
  [[unroll]] for (uint l = 0; l < B_LOADS_EACH; ++l) {
    const uint step = k0 + step_of_b(l);
    fetch_values_b(l, b_tile_start + (step < k ? step : 0));
  }
}

VECTOR_B dequantized(uint values, vec2 scale) {
  VECTOR_B halves;
  [[unroll]] for (uint i = 0; i < 4; i += 2)
    halves[i / 2] = packHalf2x16(vec2(value_minus_zero_point(values, i),
                                      value_minus_zero_point(values, i + 1)) * scale.x - scale.y);
  return halves;
}

void put_tile_b(uint stage) {
  [[unroll]] for (uint l = 0; l < B_LOADS_EACH; ++l) {
#if !WHOLE_LOADS_B
    if (!has_load(l, B_LOADS)) break;
#endif
    const uvec2 at = position_b(l);
    const VECTOR_B halves = dequantized(b_next[l], b_scale[l]);
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
