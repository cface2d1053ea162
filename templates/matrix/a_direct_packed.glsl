// A is packed, fragment by fragment: each holds rows of A with MATRIX_K steps of k, padded with
// zeros to whole tiles. lda is the padded k.
#include "matrix/a_global.glsl"

uint a_next_offset, a_tile_offset;  // of the next and of the present tile, in elements
void fetch_tile_a(uint row0, uint k0) { a_next_offset = offset_a + row0 * lda + k0 * MATRIX_M; }
void put_tile_a(uint stage) { a_tile_offset = a_next_offset; }

#define fragment_a(stage, row, step) \
  load_global_a(a[(a_tile_offset + (row) * lda + (step) * MATRIX_M) / ELEMENTS_A], \
                BY_ROWS, MATRIX_K / ELEMENTS_A)
