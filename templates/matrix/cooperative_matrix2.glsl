//: GL_NV_cooperative_matrix2 for compilers that do not know it, like
//: matrix/cooperative_matrix.glsl: tensor addressing. A layout describes a matrix in memory, of
//: which a slice is read or written; a view reads that slice transposed, or clips a store to some
//: rows.
//:
//: Loads and stores count components of the matrix from the reference on, whatever it is to, and it
//: must be a multiple of 16 bytes. Functions for transposed slices have names of their own.
//:
//: CLAMP_MODE            what lies outside of a tensor
//: ALONG_K_A, ALONG_K_B  whether the operand is stored along k: A as m x k, B as n x k
const uint CooperativeMatrixClampModeUndefinedNV = 0, CooperativeMatrixClampModeConstantNV = 1,
           CooperativeMatrixClampModeClampToEdgeNV = 2;

// Capability TensorAddressingNV.
#define TENSORS extensions = ["SPV_NV_tensor_addressing"], capabilities = [5439]
#define tensorLayoutNV(dimensions, mode) spirv_type(TENSORS, id = 5370, uint(dimensions), mode)
#define tensorViewNV(dimensions, own, p0, p1) \
  spirv_type(TENSORS, id = 5371, uint(dimensions), bool(own), uint(p0), uint(p1))
#define TensorLayout tensorLayoutNV(2, CLAMP_MODE)
#define TensorView tensorViewNV(2, 0, 0, 1)  // with the dimensions of the slice
#define TransposedView tensorViewNV(2, 0, 1, 0)

spirv_instruction(id = 5372) TensorLayout createTensorLayoutNV();
spirv_instruction(id = 5373) TensorLayout setTensorLayoutDimensionNV(
    TensorLayout x, uint rows, uint columns);
spirv_instruction(id = 5374) TensorLayout setTensorLayoutStrideNV(
    TensorLayout x, uint row, uint column);
spirv_instruction(id = 5375) TensorLayout sliceTensorLayoutNV(
    TensorLayout x, uint row, uint rows, uint column, uint columns);
spirv_instruction(id = 5377) TensorView createTensorViewNV();
spirv_instruction(id = 5377) TransposedView createTransposedViewNV();
spirv_instruction(id = 5382) TensorView setTensorViewClipNV(
    TensorView x, uint row, uint rows, uint column, uint columns);

// A clipped load takes what it leaves out from `old`; here no load is clipped. Memory operands are
// those of matrix/cooperative_matrix.glsl; addressing is 0, or 1 with a view. The capability is
// CooperativeMatrixTensorAddressingNV.
#define TENSOR_ADDRESSING extensions = ["SPV_NV_cooperative_matrix2"], capabilities = [5433]
#if ALONG_K_A
spirv_instruction(TENSOR_ADDRESSING, id = 5367) MatrixA coopMatLoadTensorA(
    spirv_by_reference VECTOR_A from, MatrixA old, TensorLayout x,
    spirv_literal uint memory, spirv_literal uint addressing);
#else
spirv_instruction(TENSOR_ADDRESSING, id = 5367) MatrixA coopMatLoadTensorA(
    spirv_by_reference VECTOR_A from, MatrixA old, TensorLayout x,
    spirv_literal uint memory, spirv_literal uint addressing,
    TransposedView view);
#endif
#if !ALONG_K_B
spirv_instruction(TENSOR_ADDRESSING, id = 5367) MatrixB coopMatLoadTensorB(
    spirv_by_reference VECTOR_B from, MatrixB old, TensorLayout x,
    spirv_literal uint memory, spirv_literal uint addressing);
#else
spirv_instruction(TENSOR_ADDRESSING, id = 5367) MatrixB coopMatLoadTensorB(
    spirv_by_reference VECTOR_B from, MatrixB old, TensorLayout x,
    spirv_literal uint memory, spirv_literal uint addressing,
    TransposedView view);
#endif
spirv_instruction(TENSOR_ADDRESSING, id = 5368) void coopMatStoreTensorC(
    spirv_by_reference ELEMENT_4 to, MatrixC x, TensorLayout layout_of,
    spirv_literal uint memory, uint scope, spirv_literal uint addressing,
    TensorView view);
