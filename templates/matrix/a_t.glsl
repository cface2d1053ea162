// A is stored k x m: vectors run along m in memory, but along k in shared memory, since fragments are
// read fastest from there if their words hold neighbouring steps of k. So an invocation fetches the
// same vector of A_STEPS steps and transposes it on the way to shared memory. Invocations that are
// neighbours fetch neighbouring steps, which lie in different banks of shared memory.
#include "matrix/a_global.glsl"

const uint A_VECTORS = TILE_M / ELEMENTS_A;  // in a step of the tile
// Steps that an invocation fetches: those of a vector in shared memory if every invocation has some,
// else those of a word.
const bool A_FILLS = TILE_K % SHARED_ELEMENTS == 0 && A_VECTORS * (TILE_K / SHARED_ELEMENTS) >= LOCAL_SIZE;
const uint A_STEPS = A_FILLS ? SHARED_ELEMENTS : ELEMENTS_PER_WORD;
const uint A_LOADS = A_VECTORS * (TILE_K / A_STEPS);
const uint A_LOADS_PER_INVOCATION = (A_LOADS + LOCAL_SIZE - 1) / LOCAL_SIZE;
shared SHARED_VECTOR a_tile[STAGES][TILE_M * SHARED_STRIDE];
VECTOR_A a_next[A_LOADS_PER_INVOCATION][A_STEPS];
uint a_first[A_LOADS_PER_INVOCATION];  // addresses in the first tile
uint a_tile_start;                     // distance from there to the next tile

uint vector_of_a(uint l) { return load_position(l, A_LOADS, TILE_K / A_STEPS).x; }
uint step_of_a(uint l) { return load_position(l, A_LOADS, TILE_K / A_STEPS).y * A_STEPS; }

void begin_tiles_a(uint row0) {
  a_tile_start = 0;
  [[unroll]] for (uint l = 0; l < A_LOADS_PER_INVOCATION; ++l)
    a_first[l] = offset_a / ELEMENTS_A + step_of_a(l) * (lda / ELEMENTS_A) +
                 clamp_index(row0 / ELEMENTS_A + vector_of_a(l), (m - 1) / ELEMENTS_A);
}

void fetch_tile_a() {
  [[unroll]] for (uint l = 0; l < A_LOADS_PER_INVOCATION; ++l)
    [[unroll]] for (uint s = 0; s < A_STEPS; ++s)
      a_next[l][s] = a[a_first[l] + (a_tile_start + s * (lda / ELEMENTS_A))];
  a_tile_start += TILE_K * (lda / ELEMENTS_A);
}

void fetch_last_tile_a(uint k0) {
  [[unroll]] for (uint l = 0; l < A_LOADS_PER_INVOCATION; ++l)
    [[unroll]] for (uint s = 0; s < A_STEPS; ++s) {
      const uint first = step_of_a(l), step = k0 + first + s;
      a_next[l][s] = keep_first(a[a_first[l] + (clamp_index(step, k - 1) - first) * (lda / ELEMENTS_A)],
                                steps_left(step) > 0 ? ELEMENTS_A : 0u);
    }
}

void put_tile_a(uint stage) {
  [[unroll]] for (uint l = 0; l < A_LOADS_PER_INVOCATION; ++l) {
    if (!has_load(l, A_LOADS)) break;
    [[unroll]] for (uint w = 0; w < VECTOR_WIDTH_A; ++w) {
      uint words[SHARED_WORDS][ELEMENTS_PER_WORD];  // of each row the words with A_STEPS steps
      [[unroll]] for (uint s = 0; s < A_STEPS; s += ELEMENTS_PER_WORD) {
        [[unroll]] for (uint e = 0; e < ELEMENTS_PER_WORD; ++e)
          words[s / ELEMENTS_PER_WORD][e] = word_of(a_next[l][s + e], w);
        transpose(words[s / ELEMENTS_PER_WORD]);
      }
      const uint row = vector_of_a(l) * ELEMENTS_A + w * ELEMENTS_PER_WORD;
      const uint to = step_of_a(l) / ELEMENTS_PER_WORD;  // in words of a row
      [[unroll]] for (uint e = 0; e < ELEMENTS_PER_WORD; ++e)
        if (A_STEPS == SHARED_ELEMENTS)
          put_shared(a_tile[stage][(row + e) * SHARED_STRIDE + to / SHARED_WORDS], shared_vector(words, e));
        else
          put_shared(word_in(a_tile[stage][(row + e) * SHARED_STRIDE + to / SHARED_WORDS], to), words[0][e]);
    }
  }
}

#define fragment_a(stage, row, step) \
  load_tile_a(a_tile[stage][(row) * SHARED_STRIDE + (step) / SHARED_ELEMENTS], BY_ROWS, SHARED_STRIDE, 32)
