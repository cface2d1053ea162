// B stored n x k: a slice is TILE_N x MATRIX_K, read transposed.
#include "matrix_b_global.glsl"

#define tensor_b() set_strides(set_sides(create_layout(), n, k), tensor_ld(ldb, PER_B), 1u)
#define load_b(old, tensor, step, column) \
  load_columns_b(b[offset_b / PER_B], old, slice(tensor, column, TILE_N, step, MATRIX_K), 0, 1, create_transposed())
