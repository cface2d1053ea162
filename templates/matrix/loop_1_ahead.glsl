// Loop over k with one tile in shared memory: the next tile is fetched into registers before the
// present one is multiplied, so that the loads have that long. The last tile, in which k may end,
// comes first, so that masks are evaluated outside of the loop.
void run_k_loop(uint row, uint column) {
  if (k == 0) return;
  begin_tiles_a(row);
  begin_tiles_b(column);
  uint tiles = (k - 1) / TILE_K;  // to fetch after this one; k does not end in them
  fetch_last_tile_a(tiles * TILE_K);
  fetch_last_tile_b(tiles * TILE_K);
  put_tile_a(0);
  put_tile_b(0);
  tile_barrier();
  for (; tiles > 0; --tiles) {
    fetch_tile_a();
    fetch_tile_b();
    multiply_tile(0);
    tile_barrier();
    put_tile_a(0);
    put_tile_b(0);
    tile_barrier();
  }
  multiply_tile(0);
}
