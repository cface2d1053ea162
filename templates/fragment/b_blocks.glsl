//: B in the blocks of a GGUF file: a load takes groups along k of one column of op(B). Values are unpacked
//: where they are multiplied, and scales are applied to the sums over the steps that share them
//: (fragment/multiply.glsl). A minimum is a zero point in units of its scale. VECTOR_C is ELEMENT. Sizes along
//: k are powers of two, and a split of k begins at a multiple of a trip. Depends on:
//:   BLOCK_FORMAT       which blocks, and what is defined for load/blocks.glsl
//:   LOOP_OVER_COLUMNS  whether columns are taken in a loop, one by one
//:   BLOCKS_AHEAD       whether the words of a trip are loaded a trip ahead (b_blocks_ahead.glsl)
#define GROUPS_TOGETHER (UNROLL_K / 16)
#include "load/blocks.glsl"

// Columns that an invocation holds at a time: all that it multiplies, or one in a loop over them,
// which keeps the text of many columns short.
const uint HELD_COLUMNS = LOOP_OVER_COLUMNS == 1 ? 1 : REG_N;
#if WINDOWS
#define COLUMN_BY_COLUMN 1  // so that the registers of one column hold its window
#else
#define COLUMN_BY_COLUMN LOOP_OVER_COLUMNS
#endif

// Steps of an iteration that share a scale.
const uint STEPS_PER_SCALE =
    UNROLL_K < 16 * GROUPS_PER_SCALE ? UNROLL_K : 16 * GROUPS_PER_SCALE;
uint b_row[HELD_COLUMNS];  // first byte of each row of B as stored
uint b_first_step;         // the invocation's first step of k in these rows
// Integers in whole bytes, or in halves of one, are taken from a window's words as they lie in the
// file, if no minimum masks them; the others from words of the same group.
#define AS_STORED (WINDOWS && BLOCK == 32 && HIGH_BITS == 0 && !HAS_MINIMUM && !MULTIPLIES_INT8 && (BLOCK_CODE == INTEGER || BLOCK_CODE == INT8))
#if AS_STORED
uint b_words[UNROLL_K / BLOCK_WINDOW][WINDOW_WORDS];  // of one column
#else
uvec4 b_values[HELD_COLUMNS][UNROLL_K / 16];
#endif
float b_scale[HELD_COLUMNS][UNROLL_K / STEPS_PER_SCALE],
    b_zero_point[HELD_COLUMNS][UNROLL_K / STEPS_PER_SCALE];

void begin_rows() { b_first_step = offset_b % ldb + first_step; }
void begin_row(uint j, uint column) {
  b_row[j] = (offset_b / ldb + clamp_index(column, n - 1)) * (ldb / BLOCK) * BLOCK_BYTES;
}

// Takes a scale and a minimum as the s-th scale and zero point of a column. The values must be
// masked by what it returns.
#if !HAS_MINIMUM
uint put_scale(uint j, uint s, vec2 scale) {
  b_scale[j][s] = scale.x;
  b_zero_point[j][s] = 0;
  return 0xffffffffu;
}
#elif !BLOCKS_AHEAD && !MULTIPLIES_INT8
// A value that makes an element 0 is the zero point exactly. Without a scale all elements are minus
// the minimum: the mask makes the values 0.
uint put_scale(uint j, uint s, vec2 scale) {
  const float zero = scale.x == 0 ? scale.y : scale.y / scale.x, whole = round(zero);
  b_zero_point[j][s] = scale.x != 0 && whole * scale.x == scale.y ? whole : zero;
  b_scale[j][s] = scale.x == 0 ? 1 : scale.x;
  return scale.x == 0 ? 0 : 0xffffffffu;
}
#else
// A minimum stays what it is: an element is one multiply-add of its value (b_blocks_ahead.glsl),
// and the quotient of minimum and scale is not needed.
float b_factor[HELD_COLUMNS][UNROLL_K / STEPS_PER_SCALE],
    b_minimum[HELD_COLUMNS][UNROLL_K / STEPS_PER_SCALE];

uint put_scale(uint j, uint s, vec2 scale) {
  b_factor[j][s] = scale.x;
  b_minimum[j][s] = scale.y;
  b_scale[j][s] = 1;
  b_zero_point[j][s] = 0;
  return 0xffffffffu;
}
#endif

// A trip reads a part of one block, or whole blocks. The byte of its first block, counted from the
// row's first byte, and its first group within that block:
uint first_block(uint step) { return step / BLOCK * BLOCK_BYTES; }
uint first_group(uint step) { return UNROLL_K / 16 < GROUPS ? step % BLOCK / 16 : 0; }

// The group of a trip, at most g, whose bytes hold the values of group g; which half of them; and
// the bits of the other half.
#if HALF_BYTES
const uint GROUPS_PER_HALF = LOW_WIDTH / 16;
uint half_of_group(uint g) { return g / GROUPS_PER_HALF % 2; }
uint bytes_of_group(uint g) { return g - half_of_group(g) * GROUPS_PER_HALF; }
uint other_half(uint g) { return half_of_group(g) == 0 ? 0xf0f0f0f0u : 0x0f0f0f0fu; }
#else
uint bytes_of_group(uint g) { return g; }
uint other_half(uint g) { return 0; }
#endif

// Takes `groups` groups from `from` on, and their scales. Group 0 is group `first` of the block at
// byte `base`, and group of_trip of the trip. Loops have constant numbers of iterations, without
// which drivers do not unroll the loops around them.
void load_groups(uint j, uint of_trip, uint from, uint groups, uint base, uint first) {
#if !AS_STORED
  [[unroll]] for (uint i = 0; i < groups; ++i) {
    const uint g = from + i;
    if (bytes_of_group(g) == g)
      b_values[j][of_trip + g] = group_values(base, g / GROUPS * BLOCK_BYTES, first, g % GROUPS);
  }
#endif
  [[unroll]] for (uint s = 0; s < groups * 16 / STEPS_PER_SCALE; ++s) {
    const uint g = from + s * STEPS_PER_SCALE / 16;
    const uint mask = put_scale(j, (of_trip + g) * 16 / STEPS_PER_SCALE,
                                group_scale(base, g / GROUPS * BLOCK_BYTES, first, g % GROUPS));
#if HAS_MINIMUM
    [[unroll]] for (uint i = 0; i < STEPS_PER_SCALE / 16; ++i)
      b_values[j][bytes_of_group(of_trip + g + i)] &= mask | other_half(g + i);
#endif
  }
}

// load_part() takes a part of the trip at k0, PART steps: a block, a window, or the steps that
// share a scale. load_column() takes `steps` steps from k0 on: those of a trip, or TAIL_K.

#if WINDOWS && WHOLE_VECTORS
const uint PART = BLOCK;
void load_part(uint j, uint k0, uint part) {
  const uint w = part / WINDOW_BLOCKS, i = part % WINDOW_BLOCKS;
  read_block(b_row[j] + (b_first_step + k0) / BLOCK * BLOCK_BYTES + w * WINDOW_WORDS * 4, i);
#if AS_STORED
  [[unroll]] for (uint x = 0; x < (BLOCK_BYTES + 6) / 4; ++x)
    if (i * BLOCK_BYTES / 4 + x < WINDOW_WORDS)
      b_words[w][i * BLOCK_BYTES / 4 + x] = window[i * BLOCK_BYTES / 4 + x];
#endif
  load_groups(j, w * BLOCK_WINDOW / 16, i * GROUPS, GROUPS, 0, 0);
}
#elif WINDOWS
const uint PART = BLOCK_WINDOW;
void load_part(uint j, uint k0, uint part) {
  load_window(b_row[j], b_first_step + k0 + part * BLOCK_WINDOW);
#if AS_STORED
  [[unroll]] for (uint x = 0; x < WINDOW_WORDS; ++x) b_words[part][x] = window[x];
#endif
  load_groups(j, part * BLOCK_WINDOW / 16, 0, BLOCK_WINDOW / 16, 0, 0);
}
#else
// The steps whose values lie in the same bytes, of two scales in Q4_K. Four rows of it take a trip
// as one part: 0.9 of the time on lavapipe.
#if BLOCK_FORMAT == Q4_K
const uint PART = REG_M <= 2 && UNROLL_K > 64 ? 64 : UNROLL_K;
#else
const uint PART = STEPS_PER_SCALE;
#endif
void load_part(uint j, uint k0, uint part) {
  const uint step = b_first_step + k0;
  load_groups(j, 0, part * PART / 16, PART / 16, b_row[j] + first_block(step),
              first_group(step));
}
#endif
#if WINDOWS
// The tail is one window. Values beyond k in its last block are multiplied by zeros of A, so they
// may be anything.
void load_column(uint j, uint k0, uint steps) {
  [[unroll]] for (uint part = 0; part < steps / PART; ++part) load_part(j, k0, part);
}
#else
// The tail is one group, at any place of a trip. Values beyond k in a row's last block are
// multiplied by zeros of A, so they may be anything.
void load_column(uint j, uint k0, uint steps) {
  const uint step = b_first_step + k0, block = first_block(step), group = step % BLOCK / 16;
  if (steps == UNROLL_K) {
    [[unroll]] for (uint part = 0; part < UNROLL_K / PART; ++part) load_part(j, k0, part);
  } else {
    [[unroll]] for (uint w = 0; w < 4; ++w)
      b_values[j][0][w] = group_values_word(b_row[j], block, group, w);
    b_values[j][0] &= put_scale(j, 0, group_scale(b_row[j], block, group, 0));
  }
}
#endif

#if AS_STORED
float b_value(uint u, uint j) {
  const uint span = BLOCK * LOW_BITS / 8;  // bytes with all elements of a block
  const uint byte = u % BLOCK_WINDOW / BLOCK * BLOCK_BYTES + LOW_FIRST + u % BLOCK % span;
  const uint bit = byte % 4 * 8 + u % BLOCK / span * LOW_BITS;
  // Q8_0 has a sign.
  return bits_minus_zero_point(b_words[u / BLOCK_WINDOW][byte / 4], bit, LOW_BITS,
                               LOW_BITS == 8 ? ZERO_POINT : 0);
}
#else
float b_value(uint u, uint j) {
  const uint word = b_values[j][bytes_of_group(u / 16)][u / 4 % 4];
#if HALF_BYTES
  const float value = bits_minus_zero_point(word, u % 4 * 8 + half_of_group(u / 16) * 4, 4, 0);
#else
  const float value = value_minus_zero_point(word, u % 4);
#endif
#if HAS_MINIMUM
  return value - b_zero_point[j][u / STEPS_PER_SCALE];
#else
  return value;
#endif
}
#endif
#if MULTIPLIES_INT8

// Four values from step 4 w on, as signed bytes.
int b_word(uint w, uint j) {
  const uint word = b_values[j][bytes_of_group(w / 4)][w % 4];
#if HALF_BYTES
  return int(word >> half_of_group(w / 4) * 4 & 0x0f0f0f0fu);
#else
  return int(word ^ FLIPPED_SIGNS);
#endif
}
// The sum of products of A's integers with elements of column j that share a scale, from the sum of
// products with their bytes and the sum of A's integers.
float sum_of_elements(uint j, uint s, int products, int sum_a) {
  const int values = products - SIGNED_ZERO_POINT * sum_a;
#if HAS_MINIMUM
  return b_factor[j][s] * float(values) - b_minimum[j][s] * float(sum_a);
#else
  return float(values) * (HALVES == 1 ? 0.5 : 1.0);
#endif
}
#endif
