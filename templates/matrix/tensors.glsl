//: Tensor addressing of matrices as SPIR-V intrinsics, like matrix/types.glsl:
//: SPV_NV_tensor_addressing, and the loads and stores of SPV_NV_cooperative_matrix2. A layout
//: describes a matrix in memory, of which a slice is read or written; a view reads that slice
//: transposed, or clips a store to some rows.
//:
//: Loads and stores count components of the matrix from the pointer on, whatever it points to, and the
//: pointer must be a multiple of 16 bytes.
//:
//: EDGE  EXACT or MASKED: whether tiles may extend beyond a tensor
#if EDGE == EXACT
// Nothing is read outside a tensor (clamp mode 0, undefined), and rows are whole vectors of 16 bytes,
// which tensor_ld tells the driver's compiler.
const uint CLAMP_MODE = 0;
uint tensor_ld(uint ld, uint vector) { return ld / vector * vector; }
#else
// Reads outside a tensor give zeros (clamp mode 1, constant, whose value is 0), so tiles may extend
// beyond every edge.
const uint CLAMP_MODE = 1;
uint tensor_ld(uint ld, uint vector) { return ld; }
#endif

const uint TENSOR_DIMENSIONS = 2;
const bool HAS_DIMENSIONS = false;  // a view has the dimensions of the slice
const uint FIRST_DIMENSION = 0, SECOND_DIMENSION = 1;

// Capability TensorAddressingNV (5439).
#define TENSORS extensions = ["SPV_NV_tensor_addressing"], capabilities = [5439]
#define TensorLayout spirv_type(TENSORS, id = 5370, TENSOR_DIMENSIONS, CLAMP_MODE)
#define TensorView \
  spirv_type(TENSORS, id = 5371, TENSOR_DIMENSIONS, HAS_DIMENSIONS, FIRST_DIMENSION, SECOND_DIMENSION)
#define TransposedView \
  spirv_type(TENSORS, id = 5371, TENSOR_DIMENSIONS, HAS_DIMENSIONS, SECOND_DIMENSION, FIRST_DIMENSION)

spirv_instruction(id = 5372) TensorLayout create_layout();
spirv_instruction(id = 5373) TensorLayout set_dimensions(TensorLayout x, uint rows, uint columns);
spirv_instruction(id = 5374) TensorLayout set_strides(TensorLayout x, uint row, uint column);
spirv_instruction(id = 5375)
TensorLayout slice(TensorLayout x, uint row, uint rows, uint column, uint columns);
spirv_instruction(id = 5377) TensorView create_view();
spirv_instruction(id = 5377) TransposedView create_transposed();
spirv_instruction(id = 5382)
TensorView clip(TensorView x, uint row, uint rows, uint column, uint columns);

// Capability CooperativeMatrixTensorAddressingNV (5433). A clipped load takes what it leaves out from
// `old`; here no load is clipped. The memory operands are those of matrix/types.glsl. Addressing is 0,
// or 1 with a view.
#define LOADS extensions = ["SPV_NV_cooperative_matrix2"], capabilities = [5433], id = 5367
#define STORES extensions = ["SPV_NV_cooperative_matrix2"], capabilities = [5433], id = 5368
spirv_instruction(LOADS)
MatrixA load_rows_a(spirv_by_reference VECTOR_A p, MatrixA old, TensorLayout x, spirv_literal uint memory,
                    spirv_literal uint addressing);
spirv_instruction(LOADS)
MatrixA load_columns_a(spirv_by_reference VECTOR_A p, MatrixA old, TensorLayout x, spirv_literal uint memory,
                       spirv_literal uint addressing, TransposedView view);
spirv_instruction(LOADS)
MatrixB load_rows_b(spirv_by_reference VECTOR_B p, MatrixB old, TensorLayout x, spirv_literal uint memory,
                    spirv_literal uint addressing);
spirv_instruction(LOADS)
MatrixB load_columns_b(spirv_by_reference VECTOR_B p, MatrixB old, TensorLayout x, spirv_literal uint memory,
                       spirv_literal uint addressing, TransposedView view);
spirv_instruction(STORES)
void store_rows_c(spirv_by_reference ELEMENT_4 p, MatrixC x, TensorLayout to, spirv_literal uint memory, uint scope,
                  spirv_literal uint addressing, TensorView view);
