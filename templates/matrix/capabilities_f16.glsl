// Matrices of float16. Capabilities CooperativeMatrixKHR (6022) and Float16 (9).
// OpTypeCooperativeMatrixKHR is 4456.
#define MATRIX(TAG, ROWS, COLUMNS, USE)                                                            \
  spirv_type(extensions = ["SPV_KHR_cooperative_matrix"], capabilities = [6022, 9], id = 4456, TAG, \
             SCOPE, ROWS, COLUMNS, USE)
