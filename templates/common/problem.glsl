// C := alpha * op(A) * op(B) + beta * C, row-major: op(A) is m x k, op(B) is k x n, C is m x n.
// Byte for byte GemmPushConstants of generator/emit.h; leading dimensions, strides and offsets are
// in elements.
layout(push_constant) uniform Problem {
  uint m, n, depth, lda, ldb, ldc;  // depth: the problem's k
  float alpha, beta;
  uint base_a, base_b, base_c;  // offsets of the batch's first matrices
  uint stride_a, stride_b;      // distance from a matrix of the batch to the next
  uint stride_c;                // of C: from a z of the grid to the next
  uint step_a, step_b;          // distance from a step of k to the next
  uint batch, split_depth;      // matrices in the batch; steps of k in one split
#include "epilogue/push_none.glsl"
};
#include "epilogue/none.glsl"
#include "load/widen_none.glsl"

#ifndef ATOMIC_SPLIT_K
#define ATOMIC_SPLIT_K 0
#endif

// What this workgroup computes: its number of steps of k, and the offsets of its operands.
uint k, offset_a, offset_b, offset_c;

// The grid's z counts the matrices of the batch, and all of them again for every further split of k.
// With ATOMIC_SPLIT_K all splits add into one buffer.
void begin_gemm(uint z) {
  const uint batch_index = z % batch, first_step = z / batch * split_depth;
  k = min(depth - first_step, split_depth);
  offset_a = base_a + batch_index * stride_a + first_step * step_a;
  offset_b = base_b + batch_index * stride_b + first_step * step_b;
  offset_c = base_c + (ATOMIC_SPLIT_K == 1 ? batch_index : z) * stride_c;
  begin_epilogue(batch_index);
}
