// B stored k x n, read by the matrix units themselves: tiles are whole.
#include "matrix_b_global.glsl"

uint b_next_column, b_next_step, b_first_column, b_first_step;  // of the tile: to come, in work
void fetch_tile_b(uint column0, uint k0) {
  b_next_column = column0;
  b_next_step = k0;
}
void put_tile_b(uint stage) {
  b_first_column = b_next_column;
  b_first_step = b_next_step;
}

#define fragment_b(stage, step, column) \
  load_global_b(b[(offset_b + (b_first_step + (step)) * ldb + b_first_column + (column)) / PER_B], BY_ROWS, ldb / PER_B)
