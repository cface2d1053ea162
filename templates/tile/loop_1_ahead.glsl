// Loop over k with one tile in shared memory: the next tile is fetched into registers before the
// present one is multiplied, so that the loads have that long. The last tile, which may extend
// beyond k, comes first, as in loop_1.glsl.
void run_k_loop(uint row, uint column) {
  if (k == 0) return;
  begin_tile_a(row);
  begin_tile_b(column);
  const uint last = (k - 1) / TILE_K * TILE_K;
  fetch_last_a(last);
  fetch_last_b(last);
  put_tile_a(0);
  put_tile_b(0);
  barrier();
  for (uint k0 = 0; k0 < last; k0 += TILE_K) {
    fetch_tile_a(k0);
    fetch_tile_b(k0);
    multiply_tile(0, 0);
    barrier();
    put_tile_a(0);
    put_tile_b(0);
    barrier();
  }
  multiply_tile(0, 0);
}
