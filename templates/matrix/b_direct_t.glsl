// B is stored n x k. Fragments are loaded from the storage buffer, without shared memory; only
// whole tiles are read.
#include "matrix/b_global.glsl"

// First column and step of k of the next tile and of the present one.
uint b_next_column, b_next_step, b_tile_column, b_tile_step;
void fetch_tile_b(uint column0, uint k0) {
  b_next_column = column0;
  b_next_step = k0;
}
void put_tile_b(uint stage) {
  b_tile_column = b_next_column;
  b_tile_step = b_next_step;
}

#define fragment_b(stage, step, column) \
  load_global_b(b[(offset_b + (b_tile_column + (column)) * ldb + b_tile_step + (step)) / ELEMENTS_B], \
                BY_COLUMNS, ldb / ELEMENTS_B)
