// B is stored n x k: vectors run along k, in memory and in shared memory. Addresses count vectors.
#include "matrix/b_global.glsl"

const uint B_VECTORS = TILE_K / ELEMENTS_B;  // in a column of the tile
const uint B_LOADS = TILE_N * B_VECTORS;
const uint B_LOADS_PER_INVOCATION = (B_LOADS + LOCAL_SIZE - 1) / LOCAL_SIZE;
#define position_b(l) row_position(l, B_LOADS, B_VECTORS, STORE_ROWS_B, STORE_STEP_B)
shared SHARED_VECTOR b_tile[STAGES][TILE_N * SHARED_STRIDE];
VECTOR_B b_next[B_LOADS_PER_INVOCATION];
uint b_first[B_LOADS_PER_INVOCATION];  // addresses in the first tile
uint b_tile_start;                     // distance from there to the next tile

void begin_tiles_b(uint column0) {
  b_tile_start = 0;
  [[unroll]] for (uint l = 0; l < B_LOADS_PER_INVOCATION; ++l) {
    const uvec2 at = position_b(l);
    const uint column = clamp_index(column0 + at.x, n - 1);
    b_first[l] = (offset_b + column * ldb) / ELEMENTS_B + at.y;
  }
}

void fetch_tile_b() {
  [[unroll]] for (uint l = 0; l < B_LOADS_PER_INVOCATION; ++l) b_next[l] = b[b_first[l] + b_tile_start];
  b_tile_start += B_VECTORS;
}

void fetch_last_tile_b(uint k0) {
  [[unroll]] for (uint l = 0; l < B_LOADS_PER_INVOCATION; ++l) {
    const uint first = position_b(l).y, step = k0 / ELEMENTS_B + first;
    b_next[l] = keep_first(b[b_first[l] - first + clamp_index(step, (k - 1) / ELEMENTS_B)],
                           steps_left(step * ELEMENTS_B));
  }
}

void put_tile_b(uint stage) {
  [[unroll]] for (uint l = 0; l < B_LOADS_PER_INVOCATION; ++l) {
    if (!has_load(l, B_LOADS)) break;
    const uvec2 at = position_b(l);
#if VECTOR_WIDTH_B == SHARED_WORDS
    put_shared(b_tile[stage][at.x * SHARED_STRIDE + at.y], b_next[l]);
#else
    [[unroll]] for (uint w = 0; w < VECTOR_WIDTH_B; ++w) {
      const uint to = at.y * VECTOR_WIDTH_B + w;  // in words of a column
      put_shared(word_in(b_tile[stage][at.x * SHARED_STRIDE + to / SHARED_WORDS], to), word_of(b_next[l], w));
    }
#endif
  }
}

#define fragment_b(stage, step, column) \
  load_tile_b(b_tile[stage][(column) * SHARED_STRIDE + (step) / SHARED_ELEMENTS], BY_COLUMNS, SHARED_STRIDE, 32)
