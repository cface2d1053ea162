// B is stored k x n: columns are contiguous.
#include "matrix/b_global.glsl"

#define tensor_b() set_strides(set_dimensions(create_layout(), k, n), tensor_ld(ldb, ELEMENTS_B), 1u)
#define load_b(old, tensor, step, column) \
  load_rows_b(b[offset_b / ELEMENTS_B], old, slice(tensor, step, MATRIX_K, column, TILE_N), 0, 0)
