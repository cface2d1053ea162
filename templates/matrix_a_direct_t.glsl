// A stored k x m, read by the matrix units themselves: tiles are whole.
#include "matrix_a_global.glsl"

uint a_next_row, a_next_step, a_first_row, a_first_step;  // of the tile: to come, in work
void fetch_tile_a(uint row0, uint k0) {
  a_next_row = row0;
  a_next_step = k0;
}
void put_tile_a(uint stage) {
  a_first_row = a_next_row;
  a_first_step = a_next_step;
}

#define fragment_a(stage, row, step) \
  load_global_a(a[(offset_a + (a_first_step + (step)) * lda + a_first_row + (row)) / PER_A], BY_COLUMNS, lda / PER_A)
