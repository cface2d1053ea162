//: GL_KHR_cooperative_matrix for compilers that do not know it, as Debian 12's: its types,
//: functions and constants under their own names, but for the gl_ that GLSL keeps for itself. They
//: are SPIR-V intrinsics. On the day that compilers know the extension, this file becomes the
//: directive that enables it, and its users lose what differs today:
//:
//: - A component type is a tag, OPERAND_TAG or SUM_TAG, since spirv_type takes no type as an
//:   argument; generator/matrix_types.h replaces tags by the types' ids in the compiled module.
//: - The compiler does not overload functions by types of matrices: a function's last letter says
//:   which one it takes or returns.
//: - It takes every mention of a matrix for another type, so no function written in GLSL can return
//:   or take one: what does is a macro.
//: - The buffer and the index of the extension are one reference here, but for tiles in shared
//:   memory, and operands have SPIR-V's order: the layout stands before the stride.
//:
//: Only this file and cooperative_matrix2.glsl spell opcodes and tags of matrices (tests/generator/template_test.cpp).
//:
//: TYPE                          type of A and B
//: MATRIX_M, MATRIX_N, MATRIX_K  what a unit multiplies at once
//: MATRIX_SCOPE                  who holds a matrix
//: SIGNED_OPERANDS               which of the matrices are signed, as bits of the instruction
//: VECTOR_A, VECTOR_B            in which A and B lie in storage buffers
//: SHARED_VECTOR                 in which they lie in shared memory
//: RESULT_C, C_TILE              vectors of C, and where sums lie in shared memory
#extension GL_EXT_spirv_intrinsics : enable
#extension GL_KHR_memory_scope_semantics : enable

// The numbers of a type are converted, since the compiler would pass literals as such, where ids are
// required.
#if TYPE == F16  // capabilities CooperativeMatrixKHR, Float16
#define UNITS extensions = ["SPV_KHR_cooperative_matrix"], capabilities = [6022, 9]
#elif TYPE == BF16  // CooperativeMatrixKHR, BFloat16TypeKHR, BFloat16CooperativeMatrixKHR
#define UNITS                                                        \
  extensions = ["SPV_KHR_cooperative_matrix", "SPV_KHR_bfloat16"], \
  capabilities = [6022, 5116, 5118]
#elif TYPE == I8 || TYPE == U8  // CooperativeMatrixKHR, Int8
#define UNITS extensions = ["SPV_KHR_cooperative_matrix"], capabilities = [6022, 39]
#else
#error no matrix unit multiplies this type
#endif
#define coopmat(tag, scope, rows, columns, use) \
  spirv_type(UNITS, id = 4456, tag, uint(scope), uint(rows), uint(columns), use)
const uint MatrixUseA = 0, MatrixUseB = 1, MatrixUseAccumulator = 2;
const uint CooperativeMatrixLayoutRowMajor = 0, CooperativeMatrixLayoutColumnMajor = 1;
#define MatrixA coopmat(OPERAND_TAG, MATRIX_SCOPE, MATRIX_M, MATRIX_K, MatrixUseA)
#define MatrixB coopmat(OPERAND_TAG, MATRIX_SCOPE, MATRIX_K, MATRIX_N, MatrixUseB)
#define MatrixC coopmat(SUM_TAG, MATRIX_SCOPE, MATRIX_M, MATRIX_N, MatrixUseAccumulator)
// C in the type of the operands.
#define MatrixN coopmat(OPERAND_TAG, MATRIX_SCOPE, MATRIX_M, MATRIX_N, MatrixUseAccumulator)

// The constructor of a matrix whose elements are x.
spirv_instruction(id = 80) MatrixC coopmatC(ELEMENT x);
// The operator +.
spirv_instruction(id = 129) MatrixC coopMatAdd(MatrixC x, MatrixC y);
#if SCALES_SUMS
// Their products, element by element.
spirv_instruction(id = 133) MatrixC coopMatMul(MatrixC x, MatrixC y);
#endif
// The constructor that converts a matrix.
spirv_instruction(id = 115) MatrixN coopmatN(MatrixC x);
#if SIGNED_OPERANDS == 0
spirv_instruction(id = 4459) MatrixC coopMatMulAdd(MatrixA a, MatrixB b, MatrixC c);
#else
spirv_instruction(id = 4459) MatrixC coopMatMulAddSigned(
    MatrixA a, MatrixB b, MatrixC c, spirv_literal uint matrix_operands);
#define coopMatMulAdd(a, b, c) coopMatMulAddSigned(a, b, c, SIGNED_OPERANDS)
#endif

// Loads and stores of storage buffers. Strides count what the reference is to, here and below.
spirv_instruction(id = 4457) MatrixA coopMatLoadA(
    spirv_by_reference VECTOR_A from, uint matrix_layout, uint stride);
spirv_instruction(id = 4457) MatrixB coopMatLoadB(
    spirv_by_reference VECTOR_B from, uint matrix_layout, uint stride);
spirv_instruction(id = 4458) void coopMatStoreC(
    spirv_by_reference RESULT_C to, MatrixC x, uint matrix_layout, uint stride);
spirv_instruction(id = 4458) void coopMatStoreN(
    spirv_by_reference uvec4 to, MatrixN x, uint matrix_layout, uint stride);

// Loads and stores of shared memory, with SPIR-V's memory operands.
#define NonPrivate 32
#define NonPrivateMakeAvailable 40  // and what is stored is available to the scope at once
#define NonPrivateMakeVisible 48    // and what others have stored is visible
spirv_instruction(id = 4457) MatrixA load_shared_a(
    spirv_by_reference SHARED_VECTOR x, uint matrix_layout, uint stride, spirv_literal uint memory);
spirv_instruction(id = 4457) MatrixB load_shared_b(
    spirv_by_reference SHARED_VECTOR x, uint matrix_layout, uint stride, spirv_literal uint memory);
#define coopMatLoadSharedA(from, element, matrix_layout, stride, memory) \
  load_shared_a(from[element], matrix_layout, stride, memory)
#define coopMatLoadSharedB(from, element, matrix_layout, stride, memory) \
  load_shared_b(from[element], matrix_layout, stride, memory)
#if SCALES_SUMS
spirv_instruction(id = 4457) MatrixC load_shared_c(
    spirv_by_reference uint x, uint matrix_layout, uint stride, spirv_literal uint memory);
#define coopMatLoadSharedC(from, element, matrix_layout, stride, memory) \
  load_shared_c(from[element], matrix_layout, stride, memory)
#endif
spirv_instruction(id = 4457) MatrixA coopMatLoadVisibleA(
    spirv_by_reference SHARED_VECTOR from, uint matrix_layout, uint stride,
    spirv_literal uint memory, uint scope);
spirv_instruction(id = 4457) MatrixB coopMatLoadVisibleB(
    spirv_by_reference SHARED_VECTOR from, uint matrix_layout, uint stride,
    spirv_literal uint memory, uint scope);
#if defined(C_TILE)
spirv_instruction(id = 4458) void store_shared_c(
    spirv_by_reference SHARED_VECTOR to, MatrixC x, uint matrix_layout, uint stride,
    spirv_literal uint memory, uint scope);
#else
spirv_instruction(id = 4458) void store_shared_c(
    spirv_by_reference ELEMENT to, MatrixC x, uint matrix_layout, uint stride,
    spirv_literal uint memory, uint scope);
#endif
#define coopMatStoreSharedC(to, element, x, matrix_layout, stride, memory, scope) \
  store_shared_c(to[element], x, matrix_layout, stride, memory, scope)
