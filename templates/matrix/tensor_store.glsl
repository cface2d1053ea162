// Stores the sums of matrix_workgroup.comp: PIECE_M rows of the matrix at a time go through shared
// memory, from which invocations store vectors of C. So beta and the epilogue take no further pass
// over C, and no workspace.
#include "epilogue/store_vector.glsl"

const uint PIECE_VECTORS = PIECE_M * TILE_N / 4;
shared ELEMENT_4 c_piece[PIECE_VECTORS];

void store_piece(uvec2 tile, uint row, uint column) {
  const bool vectors = columns_inside(tile) && (ldc | offset_c) % 4 == 0;
  [[dont_unroll]] for (uint v = gl_LocalInvocationIndex; v < PIECE_VECTORS; v += LOCAL_SIZE) {
    const uint first = v * 4;
    const uint to_row = row + first / TILE_N;
    if (to_row >= m) break;
    store_vector(vectors, RESULT_C(c_piece[v]), to_row, column + first % TILE_N);
  }
}

#define store_sums(sums, tile, row, column)                                                          \
  [[dont_unroll]] for (uint piece = 0; piece < TILE_M; piece += PIECE_M) {                           \
    store_rows_c(c_piece[0], sums, set_dimensions(create_layout(), PIECE_M, TILE_N), 40, WORKGROUP_SCOPE, \
                 1, clip(create_view(), piece, PIECE_M, 0u, TILE_N));                                \
    barrier();                                                                                       \
    store_piece(tile, (row) + piece, column);                                                        \
    barrier();                                                                                       \
  }
