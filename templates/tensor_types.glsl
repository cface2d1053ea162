// Tensor addressing of matrices, spelled out like matrix_types.glsl: SPV_NV_tensor_addressing, and
// the loads and stores of SPV_NV_cooperative_matrix2. A layout is a matrix in memory, of which a
// slice is read; a view reads that slice transposed, or stores only some rows of a matrix.
//
// Loads and stores count in the matrix's components from the pointer, whatever that points to, and
// the pointer must be a multiple of 16 bytes.
#include "tensor_masked.glsl"

const uint TENSOR_SIDES = 2;
const bool OWN_SIDES = false;  // a view has the sides of the slice
const uint FIRST_SIDE = 0, SECOND_SIDE = 1;

// Capability TensorAddressingNV.
#define TensorLayout \
  spirv_type(extensions = ["SPV_NV_tensor_addressing"], capabilities = [5439], id = 5370, TENSOR_SIDES, OUTSIDE)
#define TensorView                                                                                  \
  spirv_type(extensions = ["SPV_NV_tensor_addressing"], capabilities = [5439], id = 5371, TENSOR_SIDES, \
             OWN_SIDES, FIRST_SIDE, SECOND_SIDE)
#define TransposedView                                                                              \
  spirv_type(extensions = ["SPV_NV_tensor_addressing"], capabilities = [5439], id = 5371, TENSOR_SIDES, \
             OWN_SIDES, SECOND_SIDE, FIRST_SIDE)

spirv_instruction(id = 5372) TensorLayout create_layout();
spirv_instruction(id = 5373) TensorLayout set_sides(TensorLayout x, uint rows, uint columns);
spirv_instruction(id = 5374) TensorLayout set_strides(TensorLayout x, uint row, uint column);
spirv_instruction(id = 5375)
TensorLayout slice(TensorLayout x, uint row, uint rows, uint column, uint columns);
spirv_instruction(id = 5377) TensorView create_view();
spirv_instruction(id = 5377) TransposedView create_transposed();
spirv_instruction(id = 5382)
TensorView clip(TensorView x, uint row, uint rows, uint column, uint columns);

// Capability CooperativeMatrixTensorAddressingNV. `old` has what a clipped load leaves out: nothing
// here. Memory operands as in matrix_types.glsl; addressing 0, or 1: with a view.
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
