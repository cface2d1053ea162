// Loop over k with two tiles in shared memory: the next tile is fetched into registers before the
// present one is multiplied, which takes one barrier a tile. The last tile, which may extend beyond
// k, comes first: its masks and addresses are outside of the loop, which handles whole tiles only.
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
  uint a_stage = 0, b_stage = 0;
  for (uint k0 = 0; k0 < last; k0 += TILE_K) {
    fetch_tile_a(k0);
    fetch_tile_b(k0);
    multiply_tile(a_stage, b_stage);
    a_stage = A_STAGE - a_stage;
    b_stage = B_STAGE - b_stage;
    put_tile_a(a_stage);
    put_tile_b(b_stage);
    barrier();
  }
  multiply_tile(a_stage, b_stage);
}
