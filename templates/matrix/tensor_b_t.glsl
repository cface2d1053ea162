// B is stored n x k: a slice is TILE_N x MATRIX_K and is read transposed.
#include "matrix/b_global.glsl"

#define tensor_b() set_strides(set_dimensions(create_layout(), n, k), tensor_ld(ldb, ELEMENTS_B), 1u)
#define load_b(old, tensor, step, column) \
  load_columns_b(b[offset_b / ELEMENTS_B], old, slice(tensor, column, TILE_N, step, MATRIX_K), 0, 1, create_transposed())
