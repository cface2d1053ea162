#version 450
// C := alpha * A * B + beta * C by matrix units (cooperative matrices) of workgroup scope: TILE_M x
// TILE_N elements of C are one matrix, which the whole workgroup holds. The driver moves A and B to
// the units, through shared memory that it manages itself: a load names a slice of a tensor, and
// reads zeros outside the tensor.
//
// Rooftile matrix 128x128x64 32x64 of 128x128x64 workgroup u64 v4/4 direct/direct: f16; A transposed, B not transposed.
// A workgroup of 256 invocations computes 128 x 128 elements of C as one matrix.
// family=matrix tile_m=128 tile_n=128 tile_k=64 reg_m=1 reg_n=1 subgroup_m=32 subgroup_n=64 matrix_m=128 matrix_n=128 matrix_k=64 scope=workgroup vector_width_a=4 vector_width_b=4 load_path_a=direct load_path_b=direct stage=none stages=1 shared_pad=0 unroll_k=64 dot=1 split_k=1 reduction=ordered tile_batch=1 raster=row packed_a=no packed_b=no edge=masked subgroup_size=32 optimization=zero
#define TILE_M 128
#define TILE_N 128
#define TILE_K 64
#define MATRIX_M 128
#define MATRIX_N 128
#define MATRIX_K 64
#define ELEMENT float
#define ELEMENT_4 vec4
#define VECTOR_A uvec4
#define ELEMENTS_A 8
#define VECTOR_B uvec4
#define ELEMENTS_B 8
#define VECTOR_WIDTH_C 4
#define RESULT_C vec4
#define RESULT float
#define OPERAND_TAG 0x7F000010u
#define MATRIX_SCOPE gl_ScopeWorkgroup
#define SUM_TAG 0x7F000020u
#define LOCAL_SIZE 256
#define PIECE_M 32

#extension GL_EXT_control_flow_attributes : enable
#pragma use_vulkan_memory_model

// Reads outside of a tensor give zeros, so tiles may extend beyond every edge.
#define CLAMP_MODE CooperativeMatrixClampModeConstantNV
uint tensor_ld(uint ld, uint vector) { return ld; }

#extension GL_EXT_spirv_intrinsics : enable
#extension GL_KHR_memory_scope_semantics : enable

// The numbers of a type are converted, since the compiler would pass literals as such, where ids are
// required.
#define UNITS extensions = ["SPV_KHR_cooperative_matrix"], capabilities = [6022, 9]
#define coopmat(tag, scope, rows, columns, use) \
  spirv_type(UNITS, id = 4456, tag, uint(scope), uint(rows), uint(columns), use)
const uint MatrixUseA = 0, MatrixUseB = 1, MatrixUseAccumulator = 2;
#define MatrixA coopmat(OPERAND_TAG, MATRIX_SCOPE, MATRIX_M, MATRIX_K, MatrixUseA)
#define MatrixB coopmat(OPERAND_TAG, MATRIX_SCOPE, MATRIX_K, MATRIX_N, MatrixUseB)
#define MatrixC coopmat(SUM_TAG, MATRIX_SCOPE, MATRIX_M, MATRIX_N, MatrixUseAccumulator)

// The constructor of a matrix whose elements are x.
spirv_instruction(id = 80) MatrixC coopmatC(ELEMENT x);
spirv_instruction(id = 4459) MatrixC coopMatMulAdd(MatrixA a, MatrixB b, MatrixC c);

#define NonPrivateMakeAvailable 40  // and what is stored is available to the scope at once

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
spirv_instruction(TENSOR_ADDRESSING, id = 5367) MatrixA coopMatLoadTensorA(
    spirv_by_reference VECTOR_A from, MatrixA old, TensorLayout x,
    spirv_literal uint memory, spirv_literal uint addressing,
    TransposedView view);
spirv_instruction(TENSOR_ADDRESSING, id = 5367) MatrixB coopMatLoadTensorB(
    spirv_by_reference VECTOR_B from, MatrixB old, TensorLayout x,
    spirv_literal uint memory, spirv_literal uint addressing);
spirv_instruction(TENSOR_ADDRESSING, id = 5368) void coopMatStoreTensorC(
    spirv_by_reference ELEMENT_4 to, MatrixC x, TensorLayout layout_of,
    spirv_literal uint memory, uint scope, spirv_literal uint addressing,
    TensorView view);

layout(local_size_x = LOCAL_SIZE) in;

// Byte for byte GemmPushConstants of generator/emit.h.
layout(push_constant) uniform Problem {
  uint m, n, depth, lda, ldb, ldc;  // depth: the problem's k
  float alpha, beta;
  uint base_a, base_b, base_c;        // offsets of the batch's first matrices
  uint stride_a, stride_b, stride_c;  // from a matrix to the next; of C, from a z of the grid
  uint step_a, step_b;                // from a step of k to the next
  uint batch, split_depth;            // matrices in the batch; steps of k in one split
};

// C := alpha * AB + beta * C.
float finish(float sum, float old, uint row, uint column) { return alpha * sum + old; }
RESULT_C finish(RESULT_C sum, RESULT_C old, uint row, uint column) { return alpha * sum + old; }

// What this workgroup computes: its number of steps of k, and the offsets of its operands.
uint k, offset_a, offset_b, offset_c;

// The grid's z counts the matrices of the batch, and all of them again for every further split of
// k.
void begin_gemm(uint z) {
  const uint batch_index = z % batch, first_step = z / batch * split_depth;
  k = min(depth - first_step, split_depth);
  offset_a = base_a + batch_index * stride_a + first_step * step_a;
  offset_b = base_b + batch_index * stride_b + first_step * step_b;
  offset_c = base_c + z * stride_c;
}

bool columns_inside(uvec2 tile) { return (tile.x + 1) * TILE_N <= n; }

// Along n first.
uvec2 tile_position() { return gl_WorkGroupID.xy; }

// Operands in storage buffers of vectors of 32-bit words.
layout(binding = 0, std430) readonly buffer OperandA { VECTOR_A a[]; };
layout(binding = 1, std430) readonly buffer OperandB { VECTOR_B b[]; };

// load_a loads TILE_M x MATRIX_K elements of A, load_b MATRIX_K x TILE_N of B. They are macros,
// since no function can return a matrix (matrix/cooperative_matrix.glsl).
#define tensor_of(rows, columns, ld) \
  setTensorLayoutStrideNV(setTensorLayoutDimensionNV(createTensorLayoutNV(), rows, columns), ld, 1u)
#define tensor_a() tensor_of(k, m, tensor_ld(lda, ELEMENTS_A))
#define load_a(old, tensor, row, step)                                               \
  coopMatLoadTensorA(a[offset_a / ELEMENTS_A], old,                                  \
                     sliceTensorLayoutNV(tensor, step, MATRIX_K, row, TILE_M), 0, 1, \
                     createTransposedViewNV())
#define tensor_b() tensor_of(k, n, tensor_ld(ldb, ELEMENTS_B))
#define load_b(old, tensor, step, column)           \
  coopMatLoadTensorB(b[offset_b / ELEMENTS_B], old, \
                     sliceTensorLayoutNV(tensor, step, MATRIX_K, column, TILE_N), 0, 0)

#define C_BINDING 2
layout(binding = C_BINDING, std430) buffer OperandC { RESULT c[]; };
layout(binding = C_BINDING, std430) buffer OperandCVectors { RESULT_C c_vectors[]; };
RESULT load_c(uint i) { return c[i]; }
void store_c(uint i, RESULT x) { c[i] = x; }
RESULT_C load_c_vector(uint i) { return c_vectors[i / VECTOR_WIDTH_C]; }
void store_c_vector(uint i, RESULT_C x) { c_vectors[i / VECTOR_WIDTH_C] = x; }

void store_elements(uint c_index, uint columns, RESULT_C sum, uint row, uint column) {
  [[unroll]] for (uint w = 0; w < VECTOR_WIDTH_C; ++w)
    if (w < columns) {
      RESULT old = RESULT(0);
      if (beta != 0.0) old = RESULT(beta) * load_c(c_index + w);  // at beta 0 C may hold NaN
      store_c(c_index + w, finish(sum[w], old, row, column + w));
    }
}

void store_vector(bool whole, RESULT_C sum, uint row, uint column) {
  const uint c_index = offset_c + row * ldc + column;
  if (whole) {
    RESULT_C old = RESULT_C(0);
    if (beta != 0.0) old = RESULT(beta) * load_c_vector(c_index);
    store_c_vector(c_index, finish(sum, old, row, column));
  } else if (column < n) {
    store_elements(c_index, n - column, sum, row, column);
  }
}

// PIECE_M rows of the matrix at a time go through shared memory, from which invocations store
// vectors of C. So beta and the epilogue take no further pass over C, and no workspace.
const uint PIECE_VECTORS = PIECE_M * TILE_N / 4;
shared ELEMENT_4 c_piece[PIECE_VECTORS];

void store_piece(uvec2 tile, uint row, uint column) {
  const bool vectors = columns_inside(tile) && (ldc | offset_c) % 4 == 0;
  [[dont_unroll]] for (uint v = gl_LocalInvocationIndex; v < PIECE_VECTORS; v += LOCAL_SIZE) {
    const uint first = v * 4;
    const uint to_row = row + first / TILE_N;
    if (to_row >= m) break;
    store_vector(vectors, RESULT_C(c_piece[v]), to_row, column + first % TILE_N);
  }
}

#define store_sums(sums, tile, row, column)                                                     \
  [[dont_unroll]] for (uint piece = 0; piece < TILE_M; piece += PIECE_M) {                      \
    coopMatStoreTensorC(c_piece[0], sums,                                                       \
                        setTensorLayoutDimensionNV(createTensorLayoutNV(), PIECE_M, TILE_N),    \
                        NonPrivateMakeAvailable, gl_ScopeWorkgroup, 1,                          \
                        setTensorViewClipNV(createTensorViewNV(), piece, PIECE_M, 0u, TILE_N)); \
    barrier();                                                                                  \
    store_piece(tile, (row) + piece, column);                                                   \
    barrier();                                                                                  \
  }

void main() {
  begin_gemm(gl_WorkGroupID.z);
  const uvec2 tile = tile_position();
  const uint row = tile.y * TILE_M, column = tile.x * TILE_N;
  MatrixC sums = coopmatC(ELEMENT(0));
  [[dont_unroll]] for (uint k0 = 0; k0 < k; k0 += TILE_K)
    [[unroll]] for (uint u = 0; u < TILE_K; u += MATRIX_K) {
      MatrixA fragment_a;
      MatrixB fragment_b;
      fragment_a = load_a(fragment_a, tensor_a(), row, k0 + u);
      fragment_b = load_b(fragment_b, tensor_b(), k0 + u, column);
      sums = coopMatMulAdd(fragment_a, fragment_b, sums);
    }
  store_sums(sums, tile, row, column);
}
