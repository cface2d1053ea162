// A is stored k x m: a slice is MATRIX_K x TILE_M and is read transposed.
#include "matrix/a_global.glsl"

#define tensor_a() set_strides(set_dimensions(create_layout(), k, m), tensor_ld(lda, ELEMENTS_A), 1u)
#define load_a(old, tensor, row, step) \
  load_columns_a(a[offset_a / ELEMENTS_A], old, slice(tensor, step, MATRIX_K, row, TILE_M), 0, 1, create_transposed())
