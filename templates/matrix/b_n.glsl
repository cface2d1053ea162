// B is stored k x n: vectors run along n in memory, but along k in shared memory, since fragments are
// read fastest from there if their words hold neighbouring steps of k. So an invocation fetches the
// same vector of B_STEPS steps and transposes it on the way to shared memory. Invocations that are
// neighbours fetch neighbouring steps, which lie in different banks of shared memory.
#include "matrix/b_global.glsl"

const uint B_VECTORS = TILE_N / ELEMENTS_B;  // in a step of the tile
// Steps that an invocation fetches: those of a vector in shared memory if every invocation has some,
// else those of a word.
const bool B_FILLS = TILE_K % SHARED_ELEMENTS == 0 && B_VECTORS * (TILE_K / SHARED_ELEMENTS) >= LOCAL_SIZE;
const uint B_STEPS = B_FILLS ? SHARED_ELEMENTS : ELEMENTS_PER_WORD;
const uint B_LOADS = B_VECTORS * (TILE_K / B_STEPS);
const uint B_LOADS_PER_INVOCATION = (B_LOADS + LOCAL_SIZE - 1) / LOCAL_SIZE;
shared SHARED_VECTOR b_tile[STAGES][TILE_N * SHARED_STRIDE];
VECTOR_B b_next[B_LOADS_PER_INVOCATION][B_STEPS];
uint b_first[B_LOADS_PER_INVOCATION];  // addresses in the first tile
uint b_tile_start;                     // distance from there to the next tile

uint vector_of_b(uint l) { return load_position(l, B_LOADS, TILE_K / B_STEPS).x; }
uint step_of_b(uint l) { return load_position(l, B_LOADS, TILE_K / B_STEPS).y * B_STEPS; }

void begin_tiles_b(uint column0) {
  b_tile_start = 0;
  [[unroll]] for (uint l = 0; l < B_LOADS_PER_INVOCATION; ++l)
    b_first[l] = offset_b / ELEMENTS_B + step_of_b(l) * (ldb / ELEMENTS_B) +
                 clamp_index(column0 / ELEMENTS_B + vector_of_b(l), (n - 1) / ELEMENTS_B);
}

void fetch_tile_b() {
  [[unroll]] for (uint l = 0; l < B_LOADS_PER_INVOCATION; ++l)
    [[unroll]] for (uint s = 0; s < B_STEPS; ++s)
      b_next[l][s] = b[b_first[l] + (b_tile_start + s * (ldb / ELEMENTS_B))];
  b_tile_start += TILE_K * (ldb / ELEMENTS_B);
}

void fetch_last_tile_b(uint k0) {
  [[unroll]] for (uint l = 0; l < B_LOADS_PER_INVOCATION; ++l)
    [[unroll]] for (uint s = 0; s < B_STEPS; ++s) {
      const uint first = step_of_b(l), step = k0 + first + s;
      b_next[l][s] = keep_first(b[b_first[l] + (clamp_index(step, k - 1) - first) * (ldb / ELEMENTS_B)],
                                steps_left(step) > 0 ? ELEMENTS_B : 0u);
    }
}

void put_tile_b(uint stage) {
  [[unroll]] for (uint l = 0; l < B_LOADS_PER_INVOCATION; ++l) {
    if (!has_load(l, B_LOADS)) break;
    [[unroll]] for (uint w = 0; w < VECTOR_WIDTH_B; ++w) {
      uint words[SHARED_WORDS][ELEMENTS_PER_WORD];  // of each column the words with B_STEPS steps
      [[unroll]] for (uint s = 0; s < B_STEPS; s += ELEMENTS_PER_WORD) {
        [[unroll]] for (uint e = 0; e < ELEMENTS_PER_WORD; ++e)
          words[s / ELEMENTS_PER_WORD][e] = word_of(b_next[l][s + e], w);
        transpose(words[s / ELEMENTS_PER_WORD]);
      }
      const uint column = vector_of_b(l) * ELEMENTS_B + w * ELEMENTS_PER_WORD;
      const uint to = step_of_b(l) / ELEMENTS_PER_WORD;  // in words of a column
      [[unroll]] for (uint e = 0; e < ELEMENTS_PER_WORD; ++e)
        if (B_STEPS == SHARED_ELEMENTS)
          put_shared(b_tile[stage][(column + e) * SHARED_STRIDE + to / SHARED_WORDS], shared_vector(words, e));
        else
          put_shared(word_in(b_tile[stage][(column + e) * SHARED_STRIDE + to / SHARED_WORDS], to), words[0][e]);
    }
  }
}

#define fragment_b(stage, step, column) \
  load_tile_b(b_tile[stage][(column) * SHARED_STRIDE + (step) / SHARED_ELEMENTS], BY_COLUMNS, SHARED_STRIDE, 32)
