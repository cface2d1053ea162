// Multiplies where every invocation holds its own fragments of A and B.
#include "common/product.glsl"

void multiply(uint steps) {
  [[unroll]] for (uint i = 0; i < REG_M; ++i)
    [[unroll]] for (uint u = 0; u < steps; ++u) {
      const ELEMENT x = a_at(i, u);
      [[unroll]] for (uint j = 0; j < REG_N / VECTOR_WIDTH_C; ++j)
        sums[i][j] += product(x, b_at(u, j));
    }
}
