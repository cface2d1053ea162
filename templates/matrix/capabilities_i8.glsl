// Matrices of 8-bit integers. Capabilities CooperativeMatrixKHR (6022) and Int8 (39).
// OpTypeCooperativeMatrixKHR is 4456.
#define MATRIX(TAG, ROWS, COLUMNS, USE)                                                             \
  spirv_type(extensions = ["SPV_KHR_cooperative_matrix"], capabilities = [6022, 39], id = 4456, TAG, \
             SCOPE, ROWS, COLUMNS, USE)
