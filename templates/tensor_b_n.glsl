// B stored k x n: columns lie together.
#include "matrix_b_global.glsl"

#define tensor_b() set_strides(set_sides(create_layout(), k, n), tensor_ld(ldb, PER_B), 1u)
#define load_b(old, tensor, step, column) \
  load_rows_b(b[offset_b / PER_B], old, slice(tensor, step, MATRIX_K, column, TILE_N), 0, 0)
