// The loop of k_loop_lanes.glsl where invocations read A from shared memory. All reach the barriers
// of put_tile_a() equally often.
void run_k_loop() {
  if (k == 0) return;
  uint k0 = 0;
  fetch_tile_a(k0);
  for (; k0 + TILE_K <= k; k0 += TILE_K) {
    put_tile_a();
    fetch_tile_a(k0 + TILE_K);
    load_a(k0);
    load_b(k0);
    multiply(UNROLL_K);
  }
  if (k0 < k) put_tile_a();
  for (uint u = 0; u < UNROLL_K && first_step + k0 + u < k; u += TAIL_K) {
    load_a_tail(k0 + u);
    load_b_tail(k0 + u);
    multiply(TAIL_K);
  }
}
