// B is packed, fragment by fragment: each holds columns of B with MATRIX_K steps of k, padded with
// zeros to whole tiles. ldb is the padded k.
#include "matrix/b_global.glsl"

uint b_next_offset, b_tile_offset;  // of the next and of the present tile, in elements
void fetch_tile_b(uint column0, uint k0) { b_next_offset = offset_b + column0 * ldb + k0 * MATRIX_N; }
void put_tile_b(uint stage) { b_tile_offset = b_next_offset; }

#define fragment_b(stage, step, column) \
  load_global_b(b[(b_tile_offset + (column) * ldb + (step) * MATRIX_N) / ELEMENTS_B], \
                BY_COLUMNS, MATRIX_K / ELEMENTS_B)
