// B is packed, fragment by fragment: each holds columns of B with MATRIX_K steps of k, padded with
// zeros to whole tiles. ldb is the padded k.
#include "matrix/b_global.glsl"

// Addresses of the first tile, of the next whole one, of the fetched one and of the present one.
uint b_first_tile, b_whole_tile, b_next_tile, b_tile;

void begin_tiles_b(uint column0) { b_first_tile = b_whole_tile = offset_b + column0 * ldb; }
void fetch_tile_b() {
  b_next_tile = b_whole_tile;
  b_whole_tile += TILE_K * MATRIX_N;
}
void fetch_last_tile_b(uint k0) { b_next_tile = b_first_tile + k0 * MATRIX_N; }
void put_tile_b(uint stage) { b_tile = b_next_tile; }

#define fragment_b(stage, step, column) \
  load_global_b(b[(b_tile + (column) * ldb + (step) * MATRIX_N) / ELEMENTS_B], BY_COLUMNS, MATRIX_K / ELEMENTS_B)
