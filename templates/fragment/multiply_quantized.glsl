// Multiplies where every invocation holds its own fragments and B is quantised: the sum over a
// block is scaled once. In the tail only the scales of its steps are loaded.
#include "common/product.glsl"

#ifndef COLUMN_BY_COLUMN
#define COLUMN_BY_COLUMN LOOP_OVER_COLUMNS
#endif
const uint COLUMNS_TOGETHER = COLUMN_BY_COLUMN == 1 ? 1 : REG_N;

uint b_first_column, b_k0;

void begin_b(uint column) {
  b_first_column = column;
  begin_rows();
  [[unroll]] for (uint j = 0; j < HELD_COLUMNS; ++j) begin_row(j, column + column_offset(j));
}

void load_columns(uint k0, uint steps) {
  b_k0 = k0;
#if !COLUMN_BY_COLUMN
  [[unroll]] for (uint j = 0; j < REG_N; ++j) load_column(j, k0, steps);
#endif
}
void load_b(uint k0) { load_columns(k0, UNROLL_K); }
void load_b_tail(uint k0) { load_columns(k0, TAIL_K); }

// The steps of one block among the first `steps` of this iteration, in columns from `first` on.
void multiply_block(uint first, uint s, uint steps) {
  ELEMENT block_sums[REG_M][COLUMNS_TOGETHER];
  [[unroll]] for (uint i = 0; i < REG_M; ++i)
    [[unroll]] for (uint j = 0; j < COLUMNS_TOGETHER; ++j) block_sums[i][j] = ELEMENT(0);
  [[unroll]] for (uint u = 0; u < STEPS_PER_SCALE; ++u)
    if (s * STEPS_PER_SCALE + u < steps)
      [[unroll]] for (uint j = 0; j < COLUMNS_TOGETHER; ++j) {
        const ELEMENT b = ELEMENT(b_value(s * STEPS_PER_SCALE + u, first + j));
        [[unroll]] for (uint i = 0; i < REG_M; ++i)
          block_sums[i][j] += product(a_at(i, s * STEPS_PER_SCALE + u), b);
      }
  [[unroll]] for (uint i = 0; i < REG_M; ++i)
    [[unroll]] for (uint j = 0; j < COLUMNS_TOGETHER; ++j)
      sums[i][first + j] += block_sums[i][j] * ELEMENT(b_scale[first + j][s]);
}

void multiply_columns(uint first, uint steps) {
#if COLUMN_BY_COLUMN
  load_column(first, b_k0, steps);
#endif
  [[unroll]] for (uint s = 0; s < UNROLL_K / STEPS_PER_SCALE; ++s)
    if (s * STEPS_PER_SCALE < steps) multiply_block(first, s, steps);
}

void multiply(uint steps) {
#if LOOP_OVER_COLUMNS
  // The sums move on by one place for each column, so that the first place is the current column's
  // and every place is a constant.
  [[dont_unroll]] for (uint j = 0; j < REG_N; ++j) {
    begin_row(0, b_first_column + column_offset(j));
    multiply_columns(0, steps);
    [[unroll]] for (uint i = 0; i < REG_M; ++i) {
      const ELEMENT sum = sums[i][0];
      [[unroll]] for (uint c = 0; c + 1 < REG_N; ++c) sums[i][c] = sums[i][c + 1];
      sums[i][REG_N - 1] = sum;
    }
  }
#else
  [[unroll]] for (uint j = 0; j < REG_N; j += COLUMNS_TOGETHER) multiply_columns(j, steps);
#endif
}
