// Every invocation has its own fragments; those of B are scaled block by block.
#include "product.glsl"

void multiply(uint steps) {
  const uint scaled = steps < SCALED ? steps : SCALED;
  [[unroll]] for (uint i = 0; i < REG_M; ++i)
    [[unroll]] for (uint j = 0; j < REG_N; ++j)
      [[unroll]] for (uint s = 0; s < steps; s += scaled) {
        ELEMENT part = ELEMENT(0);
        [[unroll]] for (uint u = s; u < s + scaled; ++u) part += product(a_at(i, u), b_fragment[j][u]);
        sums[i][j] += part * b_scale[j][s / scaled];
      }
}
