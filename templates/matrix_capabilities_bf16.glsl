// Fragments of bfloat16. CooperativeMatrixKHR, BFloat16TypeKHR, BFloat16CooperativeMatrixKHR.
#define MATRIX(TAG, ROWS, COLUMNS, USE)                                                 \
  spirv_type(extensions = ["SPV_KHR_cooperative_matrix", "SPV_KHR_bfloat16"],           \
             capabilities = [6022, 5116, 5118], id = 4456, TAG, SCOPE, ROWS, COLUMNS, USE)
