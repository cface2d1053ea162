// B packed: fragments lie one behind the other, each columns of B with MATRIX_K steps, zero padded to
// whole tiles. ldb is the padded k.
#include "matrix_b_global.glsl"

uint b_next, b_first;  // of the tile, in elements: to come, in work
void fetch_tile_b(uint column0, uint k0) { b_next = offset_b + column0 * ldb + k0 * MATRIX_N; }
void put_tile_b(uint stage) { b_first = b_next; }

#define fragment_b(stage, step, column) \
  load_global_b(b[(b_first + (column) * ldb + (step) * MATRIX_N) / PER_B], BY_COLUMNS, MATRIX_K / PER_B)
