// The loop of k_loop_shared.glsl where the words of B are loaded a trip ahead as well. What is left of k
// is loaded where it is multiplied. Every trip says where its words come from, so that compilers know.
void run_k_loop() {
  if (k == 0) return;
  uint k0 = 0;
  hold_exponents();
  fetch_tile_a(k0);
  fetch_first_trip();
  for (; k0 + TILE_K <= k; k0 += TILE_K) {
    put_tile_a();
    fetch_tile_a(k0 + TILE_K);
    load_a(k0);
    words_from = LOADED;
    load_b(k0);
    multiply(UNROLL_K);
  }
  if (k0 < k) put_tile_a();
  for (uint u = 0; u < UNROLL_K && first_step + k0 + u < k; u += TAIL_K) {
    load_a_tail(k0 + u);
    words_from = AT_ONCE;
    load_b_tail(k0 + u);
    multiply(TAIL_K);
  }
}
