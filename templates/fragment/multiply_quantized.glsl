// Multiplies where every invocation holds its own fragments and B is quantised: the sum over a
// block is scaled once. In the tail only the scales of its steps are loaded.
#include "common/product.glsl"

#ifndef BY_COLUMNS
#define BY_COLUMNS 0
#endif
#if BY_COLUMNS
const uint COLUMNS_TOGETHER = 1;
#else
const uint COLUMNS_TOGETHER = REG_N;
void load_column(uint j, uint steps) {}  // load_b has loaded all
#endif

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

void multiply(uint steps) {
  [[unroll]] for (uint j = 0; j < REG_N; j += COLUMNS_TOGETHER) {
    load_column(j, steps);
    [[unroll]] for (uint s = 0; s < UNROLL_K / STEPS_PER_SCALE; ++s)
      if (s * STEPS_PER_SCALE < steps) multiply_block(j, s, steps);
  }
}
