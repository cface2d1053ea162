// A is stored m x k: vectors run along k, in memory and in shared memory. Addresses count vectors.
#include "matrix/a_global.glsl"

const uint A_VECTORS = TILE_K / ELEMENTS_A;  // in a row of the tile
const uint A_LOADS = TILE_M * A_VECTORS;
const uint A_LOADS_PER_INVOCATION = (A_LOADS + LOCAL_SIZE - 1) / LOCAL_SIZE;
#define position_a(l) row_position(l, A_LOADS, A_VECTORS, STORE_ROWS_A, STORE_STEP_A)
shared SHARED_VECTOR a_tile[STAGES][TILE_M * SHARED_STRIDE];
VECTOR_A a_next[A_LOADS_PER_INVOCATION];
uint a_first[A_LOADS_PER_INVOCATION];  // addresses in the first tile
uint a_tile_start;                     // distance from there to the next tile

void begin_tiles_a(uint row0) {
  a_tile_start = 0;
  [[unroll]] for (uint l = 0; l < A_LOADS_PER_INVOCATION; ++l) {
    const uvec2 at = position_a(l);
    const uint row = clamp_index(row0 + at.x, m - 1);
    a_first[l] = (offset_a + row * lda) / ELEMENTS_A + at.y;
  }
}

void fetch_tile_a() {
  [[unroll]] for (uint l = 0; l < A_LOADS_PER_INVOCATION; ++l) a_next[l] = a[a_first[l] + a_tile_start];
  a_tile_start += A_VECTORS;
}

void fetch_last_tile_a(uint k0) {
  [[unroll]] for (uint l = 0; l < A_LOADS_PER_INVOCATION; ++l) {
    const uint first = position_a(l).y, step = k0 / ELEMENTS_A + first;
    a_next[l] = keep_first(a[a_first[l] - first + clamp_index(step, (k - 1) / ELEMENTS_A)],
                           steps_left(step * ELEMENTS_A));
  }
}

void put_tile_a(uint stage) {
  [[unroll]] for (uint l = 0; l < A_LOADS_PER_INVOCATION; ++l) {
    if (!has_load(l, A_LOADS)) break;
    const uvec2 at = position_a(l);
#if VECTOR_WIDTH_A == SHARED_WORDS
    put_shared(a_tile[stage][at.x * SHARED_STRIDE + at.y], a_next[l]);
#else
    [[unroll]] for (uint w = 0; w < VECTOR_WIDTH_A; ++w) {
      const uint to = at.y * VECTOR_WIDTH_A + w;  // in words of a row
      put_shared(word_in(a_tile[stage][at.x * SHARED_STRIDE + to / SHARED_WORDS], to), word_of(a_next[l], w));
    }
#endif
  }
}

#define fragment_a(stage, row, step) \
  load_tile_a(a_tile[stage][(row) * SHARED_STRIDE + (step) / SHARED_ELEMENTS], BY_ROWS, SHARED_STRIDE, 32)
