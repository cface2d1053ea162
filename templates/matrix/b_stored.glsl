// B is stored k x n, and so it is in shared memory, row by row: a fragment is read across its rows,
// which NVIDIA's units do at full speed, and nothing is transposed on the way.
#include "matrix/b_global.glsl"

const uint B_VECTORS = TILE_N / ELEMENTS_B;  // in a step of the tile
const uint B_LOADS = TILE_K * B_VECTORS;
const uint B_LOADS_PER_INVOCATION = (B_LOADS + LOCAL_SIZE - 1) / LOCAL_SIZE;
const uint B_STRIDE = (TILE_N + SHARED_PAD) / SHARED_ELEMENTS;
shared SHARED_VECTOR b_tile[STAGES][TILE_K * B_STRIDE];
VECTOR_B b_next[B_LOADS_PER_INVOCATION];
uint b_first[B_LOADS_PER_INVOCATION];  // addresses in the first tile
uint b_tile_start;                     // distance from there to the next tile

void begin_tiles_b(uint column0) {
  b_tile_start = 0;
  [[unroll]] for (uint l = 0; l < B_LOADS_PER_INVOCATION; ++l) {
    const uvec2 at = load_position(l, B_LOADS, B_VECTORS);
    b_first[l] = offset_b / ELEMENTS_B + at.x * (ldb / ELEMENTS_B) +
                 clamp_index(column0 / ELEMENTS_B + at.y, (n - 1) / ELEMENTS_B);
  }
}

void fetch_tile_b() {
  [[unroll]] for (uint l = 0; l < B_LOADS_PER_INVOCATION; ++l) b_next[l] = b[b_first[l] + b_tile_start];
  b_tile_start += TILE_K * (ldb / ELEMENTS_B);
}

void fetch_last_tile_b(uint k0) {
  [[unroll]] for (uint l = 0; l < B_LOADS_PER_INVOCATION; ++l) {
    const uint first = load_position(l, B_LOADS, B_VECTORS).x, step = k0 + first;
    b_next[l] = keep_first(b[b_first[l] + (clamp_index(step, k - 1) - first) * (ldb / ELEMENTS_B)],
                           steps_left(step) > 0 ? ELEMENTS_B : 0u);
  }
}

void put_tile_b(uint stage) {
  [[unroll]] for (uint l = 0; l < B_LOADS_PER_INVOCATION; ++l) {
    if (!has_load(l, B_LOADS)) break;
    const uvec2 at = load_position(l, B_LOADS, B_VECTORS);
#if VECTOR_WIDTH_B == SHARED_WORDS
    put_shared(b_tile[stage][at.x * B_STRIDE + at.y], b_next[l]);
#else
    [[unroll]] for (uint w = 0; w < VECTOR_WIDTH_B; ++w) {
      const uint to = at.y * VECTOR_WIDTH_B + w;  // in words of a step
      put_shared(word_in(b_tile[stage][at.x * B_STRIDE + to / SHARED_WORDS], to), word_of(b_next[l], w));
    }
#endif
  }
}

#define fragment_b(stage, step, column) \
  load_tile_b(b_tile[stage][(step) * B_STRIDE + (column) / SHARED_ELEMENTS], BY_ROWS, B_STRIDE, 32)
