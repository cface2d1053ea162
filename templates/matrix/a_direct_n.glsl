// A is stored m x k. Fragments are loaded from the storage buffer, without shared memory; only
// whole tiles are read.
#include "matrix/a_global.glsl"

// First row and step of k of the next tile and of the present one.
uint a_next_row, a_next_step, a_tile_row, a_tile_step;
void fetch_tile_a(uint row0, uint k0) {
  a_next_row = row0;
  a_next_step = k0;
}
void put_tile_a(uint stage) {
  a_tile_row = a_next_row;
  a_tile_step = a_next_step;
}

#define fragment_a(stage, row, step) \
  load_global_a(a[(offset_a + (a_tile_row + (row)) * lda + a_tile_step + (step)) / ELEMENTS_A], \
                BY_ROWS, lda / ELEMENTS_A)
