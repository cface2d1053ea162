// Loop over k in which LANES_K invocations alternate every UNROLL_K steps. The one whose group
// holds the end of k finishes in masked iterations of TAIL_K steps, the longest vector along k.
void run_k_loop() {
  uint k0 = lane_k * UNROLL_K;
  for (; k0 + UNROLL_K <= k; k0 += TILE_K) {
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
