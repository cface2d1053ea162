// Loop over k in which LANES_K invocations alternate every UNROLL_K steps. All of them make the same
// number of whole trips, so that the loop is uniform; what is left of k is less than one trip, in
// which each invocation masks its own steps, TAIL_K (the longest vector along k) at a time.
void run_k_loop() {
  uint k0 = 0;
  for (; k0 + TILE_K <= k; k0 += TILE_K) {
    load_a(k0);
    load_b(k0);
    multiply(UNROLL_K);
  }
  for (uint u = 0; u < UNROLL_K && first_step + k0 + u < k; u += TAIL_K) {
    load_a_tail(k0 + u);
    load_b_tail(k0 + u);
    multiply(TAIL_K);
  }
}
