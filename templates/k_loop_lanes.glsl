// LANES_K invocations take turns of UNROLL_K steps. One of them meets the end of k inside its turn
// and finishes in short masked trips, TAIL_K the longest vector along k.
void multiply_all() {
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
