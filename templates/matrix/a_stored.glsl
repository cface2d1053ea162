// A is stored k x m, and so it is in shared memory, row by row: a fragment is read across its rows,
// which NVIDIA's units do at full speed, and nothing is transposed on the way.
#include "matrix/a_global.glsl"

const uint A_VECTORS = TILE_M / ELEMENTS_A;  // in a step of the tile
const uint A_LOADS = TILE_K * A_VECTORS;
const uint A_LOADS_PER_INVOCATION = (A_LOADS + LOCAL_SIZE - 1) / LOCAL_SIZE;
const uint A_STRIDE = (TILE_M + SHARED_PAD) / SHARED_ELEMENTS;
shared SHARED_VECTOR a_tile[STAGES][TILE_K * A_STRIDE];
VECTOR_A a_next[A_LOADS_PER_INVOCATION];
uint a_first[A_LOADS_PER_INVOCATION];  // addresses in the first tile
uint a_tile_start;                     // distance from there to the next tile

void begin_tiles_a(uint row0) {
  a_tile_start = 0;
  [[unroll]] for (uint l = 0; l < A_LOADS_PER_INVOCATION; ++l) {
    const uvec2 at = load_position(l, A_LOADS, A_VECTORS);
    a_first[l] = offset_a / ELEMENTS_A + at.x * (lda / ELEMENTS_A) +
                 clamp_index(row0 / ELEMENTS_A + at.y, (m - 1) / ELEMENTS_A);
  }
}

void fetch_tile_a() {
  [[unroll]] for (uint l = 0; l < A_LOADS_PER_INVOCATION; ++l) a_next[l] = a[a_first[l] + a_tile_start];
  a_tile_start += TILE_K * (lda / ELEMENTS_A);
}

void fetch_last_tile_a(uint k0) {
  [[unroll]] for (uint l = 0; l < A_LOADS_PER_INVOCATION; ++l) {
    const uint first = load_position(l, A_LOADS, A_VECTORS).x, step = k0 + first;
    a_next[l] = keep_first(a[a_first[l] + (clamp_index(step, k - 1) - first) * (lda / ELEMENTS_A)],
                           steps_left(step) > 0 ? ELEMENTS_A : 0u);
  }
}

void put_tile_a(uint stage) {
  [[unroll]] for (uint l = 0; l < A_LOADS_PER_INVOCATION; ++l) {
    if (!has_load(l, A_LOADS)) break;
    const uvec2 at = load_position(l, A_LOADS, A_VECTORS);
#if VECTOR_WIDTH_A == SHARED_WORDS
    put_shared(a_tile[stage][at.x * A_STRIDE + at.y], a_next[l]);
#else
    [[unroll]] for (uint w = 0; w < VECTOR_WIDTH_A; ++w) {
      const uint to = at.y * VECTOR_WIDTH_A + w;  // in words of a step
      put_shared(word_in(a_tile[stage][at.x * A_STRIDE + to / SHARED_WORDS], to), word_of(a_next[l], w));
    }
#endif
  }
}

#define fragment_a(stage, row, step) \
  load_tile_a(a_tile[stage][(step) * A_STRIDE + (row) / SHARED_ELEMENTS], BY_COLUMNS, A_STRIDE, 32)
