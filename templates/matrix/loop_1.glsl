// Loop over k with one tile in shared memory: an invocation fetches the next tile into registers
// while others still read the present one. The last tile, in which k may end, comes first. So masks
// are evaluated once and outside of the loop, and there is only one copy of the code that multiplies.
void run_k_loop(uint row, uint column) {
  if (k == 0) return;
  begin_tiles_a(row);
  begin_tiles_b(column);
  uint tiles = (k - 1) / TILE_K;  // to fetch after this one; k does not end in them
  fetch_last_tile_a(tiles * TILE_K);
  fetch_last_tile_b(tiles * TILE_K);
  put_tile_a(0);
  put_tile_b(0);
  for (;;) {
    tile_barrier();
    multiply_tile(0);
    if (tiles == 0) break;
    --tiles;
    fetch_tile_a();
    fetch_tile_b();
    tile_barrier();
    put_tile_a(0);
    put_tile_b(0);
  }
}
