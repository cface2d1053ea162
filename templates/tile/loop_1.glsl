// Loop over k with one tile in shared memory. The last tile, which may extend beyond k, comes first:
// its masks and addresses are outside of the loop, which handles whole tiles only.
void run_k_loop(uint row, uint column) {
  if (k == 0) return;
  begin_tile_a(row);
  begin_tile_b(column);
  const uint last = (k - 1) / TILE_K * TILE_K;
  fetch_last_a(last);
  fetch_last_b(last);
  put_tile_a(0);
  put_tile_b(0);
  uint k0 = 0;
  while (true) {
    barrier();
    multiply_tile(0, 0);
    if (k0 == last) break;
    // An invocation fetches the next tile into registers while others still read the present one.
    fetch_tile_a(k0);
    fetch_tile_b(k0);
    barrier();
    put_tile_a(0);
    put_tile_b(0);
    k0 += TILE_K;
  }
}
