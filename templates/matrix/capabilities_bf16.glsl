// Matrices of bfloat16. Capabilities CooperativeMatrixKHR (6022), BFloat16TypeKHR (5116) and
// BFloat16CooperativeMatrixKHR (5118). OpTypeCooperativeMatrixKHR is 4456.
#define MATRIX(TAG, ROWS, COLUMNS, USE)                                                 \
  spirv_type(extensions = ["SPV_KHR_cooperative_matrix", "SPV_KHR_bfloat16"],           \
             capabilities = [6022, 5116, 5118], id = 4456, TAG, SCOPE, ROWS, COLUMNS, USE)
