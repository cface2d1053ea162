// Loop over k with two tiles in shared memory: the next tile is fetched into registers before the
// present one is multiplied, which takes one barrier a tile.
void run_k_loop(uint row, uint column) {
  if (k == 0) return;
  fetch_tile_a(row, 0);
  fetch_tile_b(column, 0);
  put_tile_a(0);
  put_tile_b(0);
  barrier();
  uint stage = 0;
  for (uint k0 = TILE_K; k0 < k; k0 += TILE_K) {
    fetch_tile_a(row, k0);
    fetch_tile_b(column, k0);
    multiply_tile(stage);
    stage = 1 - stage;
    put_tile_a(stage);
    put_tile_b(stage);
    barrier();
  }
  multiply_tile(stage);
}
