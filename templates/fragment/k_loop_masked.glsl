// Loop over k of whole iterations of UNROLL_K steps, then of masked ones of TAIL_K steps, the
// longest vector along k, which may extend beyond k.
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
