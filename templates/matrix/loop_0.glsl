// Loop over k without shared memory, and so without barriers. The last tile comes first, as in
// loop_1.glsl.
void run_k_loop(uint row, uint column) {
  if (k == 0) return;
  begin_tiles_a(row);
  begin_tiles_b(column);
  uint tiles = (k - 1) / TILE_K;
  fetch_last_tile_a(tiles * TILE_K);
  fetch_last_tile_b(tiles * TILE_K);
  for (;;) {
    put_tile_a(0);
    put_tile_b(0);
    multiply_tile(0);
    if (tiles == 0) break;
    --tiles;
    fetch_tile_a();
    fetch_tile_b();
  }
}
