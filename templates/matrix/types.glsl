//: Matrices that units multiply: the types and instructions of SPV_KHR_cooperative_matrix as SPIR-V
//: intrinsics, since Debian 12's compiler does not know them. Its spirv_type takes no type as an
//: argument: OPERAND_TAG and SUM_TAG stand for the component types, and generator/matrix_types.h
//: replaces them by the types' ids in the compiled module.
//:
//: TYPE                          type of A and B, of OPERAND_BITS bits
//: MATRIX_M, MATRIX_N, MATRIX_K  what a unit multiplies at once
//: MATRIX_SCOPE                  who holds a matrix: 3 a subgroup, 2 a workgroup
//: SIGNED_OPERANDS               which of the matrices are signed, as bits of the instruction
//: VECTOR_WIDTH_A, _B            32-bit words in the vectors in which operands are read
#extension GL_EXT_spirv_intrinsics : enable

// Named constants, since the compiler would pass literals as such, where ids are required.
const uint SCOPE_OF_MATRIX = MATRIX_SCOPE, WORKGROUP_SCOPE = 2;
const uint ROWS_A = MATRIX_M, COLUMNS_A = MATRIX_K, ROWS_B = MATRIX_K, COLUMNS_B = MATRIX_N;
const uint ROWS_C = MATRIX_M, COLUMNS_C = MATRIX_N, USE_A = 0, USE_B = 1, USE_C = 2;
const uint BY_ROWS = 0, BY_COLUMNS = 1;

#if TYPE == F16
#define EXTENSIONS ["SPV_KHR_cooperative_matrix"]
#define CAPABILITIES [6022, 9]  // CooperativeMatrixKHR, Float16
#elif TYPE == BF16
#define EXTENSIONS ["SPV_KHR_cooperative_matrix", "SPV_KHR_bfloat16"]
#define CAPABILITIES [6022, 5116, 5118]  // CooperativeMatrixKHR, BFloat16TypeKHR, BFloat16CooperativeMatrixKHR
#elif TYPE == I8 || TYPE == U8
#define EXTENSIONS ["SPV_KHR_cooperative_matrix"]
#define CAPABILITIES [6022, 39]  // CooperativeMatrixKHR, Int8
#else
#error no matrix unit multiplies this type
#endif
// OpTypeCooperativeMatrixKHR.
#define MATRIX(TAG, ROWS, COLUMNS, USE)                                                         \
  spirv_type(extensions = EXTENSIONS, capabilities = CAPABILITIES, id = 4456, TAG, SCOPE_OF_MATRIX, \
             ROWS, COLUMNS, USE)
#define MatrixA MATRIX(OPERAND_TAG, ROWS_A, COLUMNS_A, USE_A)
#define MatrixB MATRIX(OPERAND_TAG, ROWS_B, COLUMNS_B, USE_B)
#define MatrixC MATRIX(SUM_TAG, ROWS_C, COLUMNS_C, USE_C)

const uint ELEMENTS_PER_WORD = 32 / OPERAND_BITS;
// Elements in a vector of words.
const uint ELEMENTS_A = ELEMENTS_PER_WORD * VECTOR_WIDTH_A;
const uint ELEMENTS_B = ELEMENTS_PER_WORD * VECTOR_WIDTH_B;

// Fragments are loaded by macros: the compiler takes every mention of a matrix for another type, so
// no function can return one.
//
// Strides count what the pointer points to. The memory operands are bits: make available (8) or
// visible (16) to the workgroup, non-private (32).
spirv_instruction(id = 4457) MatrixA load_global_a(spirv_by_reference VECTOR_A p, uint layout_of, uint stride);
spirv_instruction(id = 4457) MatrixB load_global_b(spirv_by_reference VECTOR_B p, uint layout_of, uint stride);
spirv_instruction(id = 4457)
MatrixA load_shared_a(spirv_by_reference VECTOR_A p, uint layout_of, uint stride, spirv_literal uint memory,
                      uint scope);
spirv_instruction(id = 4457)
MatrixB load_shared_b(spirv_by_reference VECTOR_B p, uint layout_of, uint stride, spirv_literal uint memory,
                      uint scope);
spirv_instruction(id = 4458)
void store_shared_c(spirv_by_reference ELEMENT p, MatrixC x, uint layout_of, uint stride,
                    spirv_literal uint memory, uint scope);
spirv_instruction(id = 80) MatrixC splat(ELEMENT x);

#if SIGNED_OPERANDS == 0
spirv_instruction(id = 4459) MatrixC multiply_add(MatrixA a, MatrixB b, MatrixC c);
#else
spirv_instruction(id = 4459) MatrixC multiply_add_signed(MatrixA a, MatrixB b, MatrixC c, spirv_literal uint signs);
#define multiply_add(a, b, c) multiply_add_signed(a, b, c, SIGNED_OPERANDS)
#endif
