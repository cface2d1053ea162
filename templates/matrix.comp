#version 450
// Matrix units: a subgroup owns SUBGROUP_M x SUBGROUP_N of C as fragments of MATRIX_M x MATRIX_N,
// which the device multiplies whole. Operands keep their stored type, and their memory is words of
// 32 bits: no device needs 16-bit or 8-bit storage for it. Tiles in shared memory lie as they are
// stored, since fragments load by rows or by columns.
#extension GL_GOOGLE_include_directive : enable
#extension GL_EXT_control_flow_attributes : enable
#extension GL_KHR_shader_subgroup_basic : enable
#pragma use_vulkan_memory_model
#include "elements_f32.glsl"

#ifndef TILE_M
#define TILE_M 64
#endif
#ifndef TILE_N
#define TILE_N 64
#endif
#ifndef TILE_K
#define TILE_K 32
#endif
#ifndef SUBGROUP_M
#define SUBGROUP_M 32
#endif
#ifndef SUBGROUP_N
#define SUBGROUP_N 32
#endif
#ifndef SUBGROUP_SIZE
#define SUBGROUP_SIZE 32
#endif
#ifndef STAGES
#define STAGES 1
#endif
#ifndef SHARED_PAD
#define SHARED_PAD 8
#endif
#ifndef UNROLL_K
#define UNROLL_K 32
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

const uint SUBGROUPS_M = TILE_M / SUBGROUP_M;
const uint SUBGROUPS_N = TILE_N / SUBGROUP_N;
const uint FRAGMENTS_M = SUBGROUP_M / MATRIX_M;  // of a subgroup
const uint FRAGMENTS_N = SUBGROUP_N / MATRIX_N;
const uint LOCAL_SIZE = SUBGROUPS_M * SUBGROUPS_N * SUBGROUP_SIZE;
const uint LANES_M = 1, LANES_N = LOCAL_SIZE;  // as the raster counts invocations

layout(local_size_x = (TILE_M / SUBGROUP_M) * (TILE_N / SUBGROUP_N) * SUBGROUP_SIZE) in;

#include "problem.glsl"
#include "words.glsl"
#include "edge_masked.glsl"
#include "raster_row.glsl"
#include "matrix_a_n.glsl"
#include "matrix_b_n.glsl"

MatrixC sums[FRAGMENTS_M][FRAGMENTS_N];
uint subgroup_row, subgroup_column;  // of the subgroup's block in the tile

void multiply_tile(uint stage) {
  for (uint trip = 0; trip < TILE_K; trip += UNROLL_K)
    [[unroll]] for (uint u = 0; u < UNROLL_K; u += MATRIX_K) {
      MatrixA fragments[FRAGMENTS_M];
      [[unroll]] for (uint i = 0; i < FRAGMENTS_M; ++i)
        fragments[i] = fragment_a(stage, subgroup_row + i * MATRIX_M, trip + u);
      [[unroll]] for (uint j = 0; j < FRAGMENTS_N; ++j) {
        const MatrixB fragment = fragment_b(stage, trip + u, subgroup_column + j * MATRIX_N);
        [[unroll]] for (uint i = 0; i < FRAGMENTS_M; ++i)
          sums[i][j] = multiply_add(fragments[i], fragment, sums[i][j]);
      }
    }
}

#include "tile_loop_1.glsl"
#include "matrix_store.glsl"

void main() {
  begin_product(gl_WorkGroupID.z);
  const uvec2 tile = tile_position();
  const uint row = tile.y * TILE_M, column = tile.x * TILE_N;
  subgroup_row = gl_SubgroupID / SUBGROUPS_N * SUBGROUP_M;
  subgroup_column = gl_SubgroupID % SUBGROUPS_N * SUBGROUP_N;
  [[unroll]] for (uint i = 0; i < FRAGMENTS_M; ++i)
    [[unroll]] for (uint j = 0; j < FRAGMENTS_N; ++j) sums[i][j] = all_of(ELEMENT(0));
  multiply_all(row, column);
  store_sums(tile, row + subgroup_row, column + subgroup_column);
}
