// B is stored n x k. Fragments are loaded from the storage buffer, without shared memory; only
// whole tiles are read.
#include "matrix/b_global.glsl"

// Addresses of the first tile, of the next whole one, of the fetched one and of the present one.
uint b_first_tile, b_whole_tile, b_next_tile, b_tile;

void begin_tiles_b(uint column0) { b_first_tile = b_whole_tile = offset_b + column0 * ldb; }
void fetch_tile_b() {
  b_next_tile = b_whole_tile;
  b_whole_tile += TILE_K;
}
void fetch_last_tile_b(uint k0) { b_next_tile = b_first_tile + k0; }
void put_tile_b(uint stage) { b_tile = b_next_tile; }

#define fragment_b(stage, step, column) \
  load_global_b(b[(b_tile + (column) * ldb + (step)) / ELEMENTS_B], BY_COLUMNS, ldb / ELEMENTS_B)
