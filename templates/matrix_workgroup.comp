#version 450
// Matrix units (cooperative matrices) of workgroup scope: TILE_M x TILE_N elements of C are one
// matrix, which the whole workgroup holds. The driver moves A and B to the units, through shared
// memory that it manages itself: a load names a slice of a tensor, and reads zeros outside the
// tensor.
#extension GL_GOOGLE_include_directive : enable
#extension GL_EXT_control_flow_attributes : enable
#pragma use_vulkan_memory_model
#include "common/elements_f32.glsl"

#ifndef TILE_M
#define TILE_M 64
#endif
#ifndef TILE_N
#define TILE_N 64
#endif
#ifndef TILE_K
#define TILE_K 64
#endif
#ifndef LOCAL_SIZE
#define LOCAL_SIZE 128
#endif
#ifndef PIECE_M
#define PIECE_M 64
#endif
#ifndef VECTOR_WIDTH_A
#define VECTOR_WIDTH_A 4
#define VECTOR_A uvec4
#endif
#ifndef VECTOR_WIDTH_B
#define VECTOR_WIDTH_B 4
#define VECTOR_B uvec4
#endif
#ifndef VECTOR_WIDTH_C
#define VECTOR_WIDTH_C 4
#define VECTOR_C vec4
#define RESULT_C vec4
#endif

#include "matrix/types.glsl"
#include "matrix/tensor_types.glsl"

const uint LANES_M = 1, LANES_N = LOCAL_SIZE;  // for the raster include: one row of invocations

layout(local_size_x = LOCAL_SIZE) in;

#include "common/problem.glsl"
#include "common/edge_masked.glsl"
#include "common/raster_row.glsl"
#include "matrix/tensor_a_n.glsl"
#include "matrix/tensor_b_n.glsl"
#include "matrix/tensor_store.glsl"

void main() {
  begin_gemm(gl_WorkGroupID.z);
  const uvec2 tile = tile_position();
  const uint row = tile.y * TILE_M, column = tile.x * TILE_N;
  MatrixC sums = splat(ELEMENT(0));
  [[dont_unroll]] for (uint k0 = 0; k0 < k; k0 += TILE_K)
    [[unroll]] for (uint u = 0; u < TILE_K; u += MATRIX_K) {
      MatrixA fragment_a;
      MatrixB fragment_b;
      fragment_a = load_a(fragment_a, tensor_a(), row, k0 + u);
      fragment_b = load_b(fragment_b, tensor_b(), k0 + u, column);
      sums = multiply_add(fragment_a, fragment_b, sums);
    }
  store_sums(sums, tile, row, column);
}
