//: B in blocks, as fragment/b_blocks.glsl, with BLOCKS_AHEAD: the vectors of words of a trip are
//: loaded right before the trip in front of it is multiplied, and unpacked a trip later. Both run
//: the same code, in which the loads have the same order: a counter, constant at each of them, says
//: which one it is, and compilers drop what is made of words that are only loaded. The functions
//: that are called here have other names there.
#define load_column load_column_at_once
#define b_value b_value_in_scale
#include "fragment/b_blocks.glsl"
#undef load_column
#undef b_value
#undef fetch_words

// Most loads of a trip of one column.
#if WINDOWS && WHOLE_VECTORS
const uint AHEAD_LOADS = UNROLL_K / BLOCK * BLOCK_BYTES / 16;
#elif WINDOWS
const uint AHEAD_LOADS = UNROLL_K / BLOCK_WINDOW * WINDOW_LOADS;
#else
const uint AHEAD_LOADS = UNROLL_K / 16 * (HIGH_BITS > 0 ? 2 : 1) + UNROLL_K / STEPS_PER_SCALE;
#endif
WORD_VECTOR words_of_trip[HELD_COLUMNS * AHEAD_LOADS];
uint next_load;  // in words_of_trip
// What a load does: it takes words from memory for this trip, from memory for the next one, or
// those that were loaded before.
const uint AT_ONCE = 0, AHEAD = 1, LOADED = 2;
uint words_from;

WORD_VECTOR words_ahead(uint vector_index) {
  if (words_from == AT_ONCE) return fetch_words(vector_index);
  if (words_from == AHEAD) words_of_trip[next_load] = fetch_words(vector_index);
  return words_of_trip[next_load++];
}

// The loads of load_part().
void fetch_part(uint j, uint k0, uint part) {
#if WINDOWS && WHOLE_VECTORS
  read_block(b_row[j] + (b_first_step + k0) / BLOCK * BLOCK_BYTES +
                 part / WINDOW_BLOCKS * WINDOW_WORDS * 4,
             part % WINDOW_BLOCKS);
#elif WINDOWS
  load_window(b_row[j], b_first_step + k0 + part * BLOCK_WINDOW);
#else
  const uint step = b_first_step + k0, base = b_row[j] + first_block(step), first = first_group(step);
  [[unroll]] for (uint i = 0; i < PART / 16; ++i) {
    const uint g = part * PART / 16 + i;
    if (bytes_of_group(g) == g) group_values(base, g / GROUPS * BLOCK_BYTES, first, g % GROUPS);
  }
  [[unroll]] for (uint s = 0; s < PART / STEPS_PER_SCALE; ++s) {
    const uint g = part * PART / 16 + s * STEPS_PER_SCALE / 16;
    group_scale(base, g / GROUPS * BLOCK_BYTES, first, g % GROUPS);
  }
#endif
}
void fetch_column(uint j, uint k0) {
  words_from = AHEAD;
  next_load = j * AHEAD_LOADS;
  [[unroll]] for (uint part = 0; part < UNROLL_K / PART; ++part) fetch_part(j, k0, part);
}
void fetch_first_trip() {
  if (TILE_K <= k)
    [[unroll]] for (uint j = 0; j < HELD_COLUMNS; ++j) fetch_column(j, 0);
}

void load_column(uint j, uint k0, uint steps) {
  next_load = j * AHEAD_LOADS;
  load_column_at_once(j, k0, steps);
  if (words_from == LOADED) {
    if (k0 + 2 * TILE_K <= k) fetch_column(j, k0 + TILE_K);
    words_from = LOADED;
  }
}

float b_value(uint u, uint j) {
#if HAS_MINIMUM
  const uint s = u / STEPS_PER_SCALE;
  return fma(b_factor[j][s], b_value_in_scale(u, j), -b_minimum[j][s]);
#else
  return b_value_in_scale(u, j);
#endif
}
