// Like loop_1.glsl, with a copy of the code that multiplies for the last tile, before the loop. NVIDIA's
// and Intel's compilers in Mesa (NAK, BRW) need it to give the sums registers in which the loop can
// leave them: without it, NAK moves each sum twice a trip (15 moves for a matrix operation, not 1).
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
  multiply_tile(0);
  for (; tiles > 0; --tiles) {
    fetch_tile_a();
    fetch_tile_b();
    tile_barrier();
    put_tile_a(0);
    put_tile_b(0);
    tile_barrier();
    multiply_tile(0);
  }
}
