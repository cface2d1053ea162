// Every invocation has its own fragments; the products of a block are scaled together.
#include "product.glsl"

void multiply(uint steps) {
  [[unroll]] for (uint s = 0; s < UNROLL_K / SCALED; ++s) {
    ELEMENT parts[REG_M][REG_N];
    [[unroll]] for (uint i = 0; i < REG_M; ++i)
      [[unroll]] for (uint j = 0; j < REG_N; ++j) parts[i][j] = ELEMENT(0);
    [[unroll]] for (uint u = 0; u < SCALED; ++u)
      if (s * SCALED + u < steps)
        [[unroll]] for (uint j = 0; j < REG_N; ++j) {
          const ELEMENT b = ELEMENT(b_value(s * SCALED + u, j));
          [[unroll]] for (uint i = 0; i < REG_M; ++i)
            parts[i][j] += product(a_at(i, s * SCALED + u), b);
        }
    [[unroll]] for (uint i = 0; i < REG_M; ++i)
      [[unroll]] for (uint j = 0; j < REG_N; ++j)
        sums[i][j] += parts[i][j] * ELEMENT(b_scale[j][s]);
  }
}
