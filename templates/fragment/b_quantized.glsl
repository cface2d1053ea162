//: A quantised B whose scales lie apart: a load takes WORD_VECTOR_WIDTH words along k of one column of op(B).
//: Values are unpacked where they are multiplied, and scales are applied to the sum over a block
//: (fragment/multiply.glsl). VECTOR_C is ELEMENT. Sizes along k are powers of two, and a split of k begins at a
//: multiple of a trip. Depends on:
//:   LOOP_OVER_COLUMNS  whether columns are taken in a loop, one by one
#include "load/quantized.glsl"

// Columns that an invocation holds at a time: all that it multiplies, or one in a loop over them,
// which keeps the text of many columns short.
const uint HELD_COLUMNS = LOOP_OVER_COLUMNS == 1 ? 1 : REG_N;
#define COLUMN_BY_COLUMN LOOP_OVER_COLUMNS

// Steps of an iteration that share a scale.
const uint STEPS_PER_SCALE = UNROLL_K < QUANT_BLOCK ? UNROLL_K : QUANT_BLOCK;
const uint VALUES_PER_LOAD = VALUES_PER_WORD * WORD_VECTOR_WIDTH;
// Of each row of B as stored: the addresses of its words at the invocation's first step of k, in
// loads; of its first scale; and of its first zero point.
uint b_address[HELD_COLUMNS], b_scale_row[HELD_COLUMNS], b_zero_point_row[HELD_COLUMNS];
uint b_first_step;  // the invocation's first step of k in these rows
WORD_VECTOR b_words[HELD_COLUMNS][UNROLL_K / VALUES_PER_LOAD];
float b_scale[HELD_COLUMNS][UNROLL_K / STEPS_PER_SCALE],
    b_zero_point[HELD_COLUMNS][UNROLL_K / STEPS_PER_SCALE];

void begin_rows() { b_first_step = offset_b % ldb + first_step; }
void begin_row(uint j, uint column) {
  const uint row = offset_b / ldb + clamp_index(column, n - 1), blocks = ldb / QUANT_BLOCK;
  b_address[j] = (row * ldb + b_first_step) / VALUES_PER_LOAD;
  b_scale_row[j] = row * blocks;
  b_zero_point_row[j] = zero_point_row(row, blocks);
}

void load_scale(uint j, uint s, uint block) {
  b_scale[j][s] = fetch_scale(b_scale_row[j] + block);
  b_zero_point[j][s] = zero_point_at(b_zero_point_row[j], block);
}

// Takes a part of the trip at k0, PART steps: whole loads and whole scales.
const uint PART = STEPS_PER_SCALE < VALUES_PER_LOAD ? VALUES_PER_LOAD : STEPS_PER_SCALE;
void load_part(uint j, uint k0, uint part) {
  const uint loads = PART / VALUES_PER_LOAD, scales = PART / STEPS_PER_SCALE;
  [[unroll]] for (uint i = 0; i < loads; ++i)
    b_words[j][part * loads + i] =
        fetch_words(b_address[j] + k0 / VALUES_PER_LOAD + part * loads + i);
  [[unroll]] for (uint s = 0; s < scales; ++s)
    load_scale(j, part * scales + s, (b_first_step + k0) / QUANT_BLOCK + part * scales + s);
}

// Takes `steps` steps from k0 on: those of a trip, or TAIL_K, which are one word. Values beyond k
// in a row's last block are multiplied by zeros of A before the scale is applied, so they may be
// anything.
void load_column(uint j, uint k0, uint steps) {
  if (steps == UNROLL_K) {
    [[unroll]] for (uint part = 0; part < UNROLL_K / PART; ++part) load_part(j, k0, part);
  } else {
    const uint word = k0 / VALUES_PER_WORD;
    b_words[j][0] = WORD_VECTOR(
        word_at(fetch_words(b_address[j] + word / WORD_VECTOR_WIDTH), word % WORD_VECTOR_WIDTH));
    load_scale(j, 0, (b_first_step + k0) / QUANT_BLOCK);
  }
}

float b_value(uint u, uint j) {
  const uint word =
      word_at(b_words[j][u / VALUES_PER_LOAD], u / VALUES_PER_WORD % WORD_VECTOR_WIDTH);
  return value_minus_zero_point(word, u % VALUES_PER_WORD, b_zero_point[j][u / STEPS_PER_SCALE]);
}
#if MULTIPLIES_INT8

// Four values from step 4 w on.
int b_word(uint w, uint j) {
  return four_integers(word_at(b_words[j][4 * w / VALUES_PER_LOAD],
                               4 * w / VALUES_PER_WORD % WORD_VECTOR_WIDTH), w % 2);
}
// The sum of products of A's integers with values of column j that share a scale, minus their zero
// point, from the sum of products with their bytes and the sum of A's integers.
float sum_of_elements(uint j, uint s, int products, int sum_a) {
  const int values = products + INTEGER_OFFSET * sum_a;  // exact, as a float too
  return float(values) - b_zero_point[j][s] * float(sum_a);
}
#endif
