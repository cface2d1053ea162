// Multiplies where every invocation holds its own fragments and B is quantised: the sum over a
// block is scaled once. In the tail only the scales of its steps are loaded.
#include "common/product.glsl"

// The steps of one block among the first `steps` of this iteration.
void multiply_block(uint s, uint steps) {
  ELEMENT block_sums[REG_M][REG_N];
  [[unroll]] for (uint i = 0; i < REG_M; ++i)
    [[unroll]] for (uint j = 0; j < REG_N; ++j) block_sums[i][j] = ELEMENT(0);
  [[unroll]] for (uint u = 0; u < STEPS_PER_SCALE; ++u)
    if (s * STEPS_PER_SCALE + u < steps)
      [[unroll]] for (uint j = 0; j < REG_N; ++j) {
        const ELEMENT b = ELEMENT(b_value(s * STEPS_PER_SCALE + u, j));
        [[unroll]] for (uint i = 0; i < REG_M; ++i)
          block_sums[i][j] += product(a_at(i, s * STEPS_PER_SCALE + u), b);
      }
  [[unroll]] for (uint i = 0; i < REG_M; ++i)
    [[unroll]] for (uint j = 0; j < REG_N; ++j)
      sums[i][j] += block_sums[i][j] * ELEMENT(b_scale[j][s]);
}

void multiply(uint steps) {
  [[unroll]] for (uint s = 0; s < UNROLL_K / STEPS_PER_SCALE; ++s)
    if (s * STEPS_PER_SCALE < steps) multiply_block(s, steps);
}
