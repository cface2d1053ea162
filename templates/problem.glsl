// C := alpha * op(A) * op(B) + beta * C, row-major: op(A) m x k, op(B) k x n, C m x n.
// Byte for byte GemmPushConstants of generator/emit.h; ld and offsets in elements.
layout(push_constant) uniform Problem {
  uint m, n, k, lda, ldb, ldc;
  float alpha, beta;
  uint offset_a, offset_b, offset_c;
};
