// Loop over k of whole iterations only: k is a multiple of UNROLL_K, or both operands are packed
// and padded with zeros to one.
void run_k_loop() {
  for (uint k0 = 0; k0 < k; k0 += UNROLL_K) {
    load_a(k0);
    load_b(k0);
    multiply(UNROLL_K);
  }
}
