// A packed: fragments lie one behind the other, each rows of A with MATRIX_K steps, zero padded to
// whole tiles. lda is the padded k.
#include "matrix_a_global.glsl"

uint a_next, a_first;  // of the tile, in elements: to come, in work
void fetch_tile_a(uint row0, uint k0) { a_next = offset_a + row0 * lda + k0 * MATRIX_M; }
void put_tile_a(uint stage) { a_first = a_next; }

#define fragment_a(stage, row, step) \
  load_global_a(a[(a_first + (row) * lda + (step) * MATRIX_M) / PER_A], BY_ROWS, MATRIX_K / PER_A)
