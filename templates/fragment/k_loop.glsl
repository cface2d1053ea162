//: The loop over k of register and broadcast kernels. Depends on:
//:   WHOLE_TRIPS  whether k is a multiple of UNROLL_K, or both operands are packed and padded with zeros to one
#if !WHOLE_TRIPS
// Whole iterations of UNROLL_K steps, then masked ones of TAIL_K, the longest vector along k, which
// may extend beyond k.
void run_k_loop() {
  uint k0 = 0;
  for (; k0 + UNROLL_K <= k; k0 += UNROLL_K) {
    load_a(k0);
    load_b(k0);
    multiply(UNROLL_K);
  }
  for (; k0 < k; k0 += TAIL_K) {
    load_a_tail(k0);
    load_b_tail(k0);
    multiply(TAIL_K);
  }
}
#else
// Whole iterations only.
void run_k_loop() {
  for (uint k0 = 0; k0 < k; k0 += UNROLL_K) {
    load_a(k0);
    load_b(k0);
    multiply(UNROLL_K);
  }
}
#endif
