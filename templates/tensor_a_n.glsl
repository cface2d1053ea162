// A stored m x k: steps of k lie together.
#include "matrix_a_global.glsl"

#define tensor_a() set_strides(set_sides(create_layout(), m, k), tensor_ld(lda, PER_A), 1u)
#define load_a(old, tensor, row, step) \
  load_rows_a(a[offset_a / PER_A], old, slice(tensor, row, TILE_M, step, MATRIX_K), 0, 0)
