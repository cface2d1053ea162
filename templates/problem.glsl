// C := alpha * op(A) * op(B) + beta * C, row-major: op(A) m x k, op(B) k x n, C m x n.
// Byte for byte GemmPushConstants of generator/emit.h; ld, strides and offsets in elements.
layout(push_constant) uniform Problem {
  uint m, n, depth, lda, ldb, ldc;  // depth: all of k
  float alpha, beta;
  uint base_a, base_b, base_c;        // of the first product
  uint stride_a, stride_b, stride_c;  // from a product (for C: from a z of the grid) to the next
  uint step_a, step_b;                // from a step of k to the next
  uint batch, split_depth;            // products; steps of k that one part of a split product has
#include "epilogue_push_none.glsl"
};
#include "epilogue_none.glsl"
#include "half_none.glsl"

#ifndef PARTS_SHARE_C
#define PARTS_SHARE_C 0
#endif

// This workgroup's part: steps of k, and where its operands begin.
uint k, offset_a, offset_b, offset_c;

// The grid's z counts products, and all of them again for every further part of k.
void begin_product(uint z) {
  const uint product = z % batch, first = z / batch * split_depth;
  k = min(depth - first, split_depth);
  offset_a = base_a + product * stride_a + first * step_a;
  offset_b = base_b + product * stride_b + first * step_b;
  offset_c = base_c + (PARTS_SHARE_C == 1 ? product : z) * stride_c;
  begin_epilogue(product);
}
