#version 450
// Matrix units of workgroup scope: TILE_M x TILE_N of C is one matrix, which the whole workgroup
// holds. The driver moves A and B to the units, through shared memory of its own where it likes:
// loads name a slice of a tensor, and read zeros outside it.
#extension GL_GOOGLE_include_directive : enable
#extension GL_EXT_control_flow_attributes : enable
#pragma use_vulkan_memory_model
#include "elements_f32.glsl"

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

#include "matrix_types.glsl"
#include "tensor_types.glsl"

const uint LANES_M = 1, LANES_N = LOCAL_SIZE;  // as the raster counts invocations

layout(local_size_x = LOCAL_SIZE) in;

#include "problem.glsl"
#include "edge_masked.glsl"
#include "raster_row.glsl"
#include "tensor_a_n.glsl"
#include "tensor_b_n.glsl"
#include "tensor_store.glsl"

void main() {
  begin_product(gl_WorkGroupID.z);
  const uvec2 tile = tile_position();
  const uint row = tile.y * TILE_M, column = tile.x * TILE_N;
  MatrixC sums = all_of(ELEMENT(0));
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
