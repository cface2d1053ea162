// Whole trips only: k is a multiple of UNROLL_K, or both operands are packed and zero padded to
// one.
void multiply_all() {
  for (uint k0 = 0; k0 < k; k0 += UNROLL_K) {
    load_a(k0);
    load_b(k0);
    multiply(UNROLL_K);
  }
}
