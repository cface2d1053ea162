// A is stored m x k: steps of k are contiguous.
#include "matrix/a_global.glsl"

#define tensor_a() set_strides(set_dimensions(create_layout(), m, k), tensor_ld(lda, ELEMENTS_A), 1u)
#define load_a(old, tensor, row, step) \
  load_rows_a(a[offset_a / ELEMENTS_A], old, slice(tensor, row, TILE_M, step, MATRIX_K), 0, 0)
