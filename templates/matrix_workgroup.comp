// C := alpha * A * B + beta * C by matrix units (cooperative matrices) of workgroup scope: TILE_M x
// TILE_N elements of C are one matrix, which the whole workgroup holds. The driver moves A and B to
// the units, through shared memory that it manages itself: a load names a slice of a tensor, and
// reads zeros outside the tensor.
//:
//: TILE_M, TILE_N        the matrix of sums
//: TILE_K                steps of k a trip; MATRIX_K of them in a matrix of A or B
//: LOCAL_SIZE            invocations of the workgroup
//: PIECE_M               rows of sums that pass through shared memory at a time
//: ALONG_K_A, ALONG_K_B  whether the operand is stored along k: A as m x k, B as n x k
//: EDGE                  EXACT or MASKED: whether tiles may extend beyond a tensor
#extension GL_EXT_control_flow_attributes : enable
#pragma use_vulkan_memory_model
#include "common/elements.glsl"

#if EDGE == EXACT
// Nothing is read outside of a tensor, and rows are whole vectors of 16 bytes, which tensor_ld
// tells the driver's compiler.
#define CLAMP_MODE CooperativeMatrixClampModeUndefinedNV
uint tensor_ld(uint ld, uint vector) { return ld / vector * vector; }
#else
// Reads outside of a tensor give zeros, so tiles may extend beyond every edge.
#define CLAMP_MODE CooperativeMatrixClampModeConstantNV
uint tensor_ld(uint ld, uint vector) { return ld; }
#endif
#include "matrix/cooperative_matrix.glsl"
#include "matrix/cooperative_matrix2.glsl"

layout(local_size_x = LOCAL_SIZE) in;

#include "common/problem.glsl"
#include "common/edge.glsl"
#include "common/raster.glsl"

// Operands in storage buffers of vectors of 32-bit words.
layout(binding = 0, std430) readonly buffer OperandA { VECTOR_A a[]; };
layout(binding = 1, std430) readonly buffer OperandB { VECTOR_B b[]; };

// load_a loads TILE_M x MATRIX_K elements of A, load_b MATRIX_K x TILE_N of B. They are macros,
// since no function can return a matrix (matrix/cooperative_matrix.glsl).
#define tensor_of(rows, columns, ld) \
  setTensorLayoutStrideNV(setTensorLayoutDimensionNV(createTensorLayoutNV(), rows, columns), ld, 1u)
#if ALONG_K_A  // A is stored m x k
#define tensor_a() tensor_of(m, k, tensor_ld(lda, ELEMENTS_A))
#define load_a(old, tensor, row, step)              \
  coopMatLoadTensorA(a[offset_a / ELEMENTS_A], old, \
                     sliceTensorLayoutNV(tensor, row, TILE_M, step, MATRIX_K), 0, 0)
#else  // A is stored k x m: a slice is MATRIX_K x TILE_M and is read transposed
#define tensor_a() tensor_of(k, m, tensor_ld(lda, ELEMENTS_A))
#define load_a(old, tensor, row, step)                                               \
  coopMatLoadTensorA(a[offset_a / ELEMENTS_A], old,                                  \
                     sliceTensorLayoutNV(tensor, step, MATRIX_K, row, TILE_M), 0, 1, \
                     createTransposedViewNV())
#endif
#if !ALONG_K_B  // B is stored k x n
#define tensor_b() tensor_of(k, n, tensor_ld(ldb, ELEMENTS_B))
#define load_b(old, tensor, step, column)           \
  coopMatLoadTensorB(b[offset_b / ELEMENTS_B], old, \
                     sliceTensorLayoutNV(tensor, step, MATRIX_K, column, TILE_N), 0, 0)
#else  // B is stored n x k: a slice is TILE_N x MATRIX_K and is read transposed
#define tensor_b() tensor_of(n, k, tensor_ld(ldb, ELEMENTS_B))
#define load_b(old, tensor, step, column)                                               \
  coopMatLoadTensorB(b[offset_b / ELEMENTS_B], old,                                     \
                     sliceTensorLayoutNV(tensor, column, TILE_N, step, MATRIX_K), 0, 1, \
                     createTransposedViewNV())
#endif

#include "epilogue/store_vector.glsl"

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
