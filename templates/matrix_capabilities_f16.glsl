// Fragments of float16. CooperativeMatrixKHR, Float16.
#define MATRIX(TAG, ROWS, COLUMNS, USE)                                                            \
  spirv_type(extensions = ["SPV_KHR_cooperative_matrix"], capabilities = [6022, 9], id = 4456, TAG, \
             SCOPE, ROWS, COLUMNS, USE)
