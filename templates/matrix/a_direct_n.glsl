// A is stored m x k. Fragments are loaded from the storage buffer, without shared memory; only
// whole tiles are read.
#include "matrix/a_global.glsl"

// Addresses of the first tile, of the next whole one, of the fetched one and of the present one.
uint a_first_tile, a_whole_tile, a_next_tile, a_tile;

void begin_tiles_a(uint row0) { a_first_tile = a_whole_tile = offset_a + row0 * lda; }
void fetch_tile_a() {
  a_next_tile = a_whole_tile;
  a_whole_tile += TILE_K;
}
void fetch_last_tile_a(uint k0) { a_next_tile = a_first_tile + k0; }
void put_tile_a(uint stage) { a_tile = a_next_tile; }

#define fragment_a(stage, row, step) \
  load_global_a(a[(a_tile + (row) * lda + (step)) / ELEMENTS_A], BY_ROWS, lda / ELEMENTS_A)
