// Loop over k without shared memory, and so without barriers.
void run_k_loop(uint row, uint column) {
  for (uint k0 = 0; k0 < k; k0 += TILE_K) {
    fetch_tile_a(row, k0);
    fetch_tile_b(column, k0);
    put_tile_a(0);
    put_tile_b(0);
    multiply_tile(0);
  }
}
