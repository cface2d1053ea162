// As loop_1_ahead.glsl, with copies of the code that multiplies for the first and the last tile. Compilers
// that give the sums registers in a copy before the loop (NAK, as in loop_1_peeled.glsl) leave them there:
// 66 instead of 436 other instructions beside 32 matrix operations.
void run_k_loop(uint row, uint column) {
  if (k == 0) return;
  begin_tiles_a(row);
  begin_tiles_b(column);
  uint tiles = (k - 1) / TILE_K;  // to multiply after this one; k does not end in them
  fetch_last_tile_a(tiles * TILE_K);
  fetch_last_tile_b(tiles * TILE_K);
  put_tile_a(0);
  put_tile_b(0);
  tile_barrier();
  if (tiles > 0) {
    fetch_tile_a();
    fetch_tile_b();
  }
  multiply_tile(0);
  for (; tiles > 1; --tiles) {
    tile_barrier();
    put_tile_a(0);
    put_tile_b(0);
    tile_barrier();
    fetch_tile_a();
    fetch_tile_b();
    multiply_tile(0);
  }
  if (tiles > 0) {
    tile_barrier();
    put_tile_a(0);
    put_tile_b(0);
    tile_barrier();
    multiply_tile(0);
  }
}
