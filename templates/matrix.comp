#version 450
// Matrix units (cooperative matrices) of subgroup scope: a subgroup computes SUBGROUP_M x
// SUBGROUP_N elements of C as fragments of MATRIX_M x MATRIX_N, which the device multiplies as a
// whole. Operands keep their stored type and are read as 32-bit words, so that the device needs no
// 8-bit or 16-bit storage.
#extension GL_GOOGLE_include_directive : enable
#extension GL_EXT_control_flow_attributes : enable
#extension GL_KHR_shader_subgroup_basic : enable
#pragma use_vulkan_memory_model
#include "common/elements_f32.glsl"

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
#ifndef SHARED_WORDS
#define SHARED_WORDS 4
#define SHARED_VECTOR uvec4
#endif
#ifndef STORE_ROWS_A
#define STORE_ROWS_A 1
#define STORE_STEP_A 1
#endif
#ifndef STORE_ROWS_B
#define STORE_ROWS_B 1
#define STORE_STEP_B 1
#endif
#ifndef VECTOR_WIDTH_C
#define VECTOR_WIDTH_C 4
#define VECTOR_C vec4
#define RESULT_C vec4
#endif

#include "matrix/types.glsl"

const uint SUBGROUPS_M = TILE_M / SUBGROUP_M;
const uint SUBGROUPS_N = TILE_N / SUBGROUP_N;
const uint FRAGMENTS_M = SUBGROUP_M / MATRIX_M;  // in a subgroup's block
const uint FRAGMENTS_N = SUBGROUP_N / MATRIX_N;
const uint LOCAL_SIZE = SUBGROUPS_M * SUBGROUPS_N * SUBGROUP_SIZE;
const uint LANES_M = 1, LANES_N = LOCAL_SIZE;  // for the raster include: one row of invocations

layout(local_size_x = (TILE_M / SUBGROUP_M) * (TILE_N / SUBGROUP_N) * SUBGROUP_SIZE) in;

#include "common/problem.glsl"
#include "matrix/words.glsl"
#include "matrix/transpose_16.glsl"
#include "matrix/loads.glsl"
#include "matrix/shared_memory.glsl"
#include "common/edge_masked.glsl"
#include "common/raster_row.glsl"
#include "matrix/a_n.glsl"
#include "matrix/b_n.glsl"

MatrixC sums[FRAGMENTS_M][FRAGMENTS_N];
uint subgroup_row, subgroup_column;  // first row and column of the subgroup's block in the tile

void multiply_tile(uint stage) {
  for (uint step = 0; step < TILE_K; step += UNROLL_K)
    [[unroll]] for (uint u = 0; u < UNROLL_K; u += MATRIX_K) {
      MatrixA fragments[FRAGMENTS_M];
      [[unroll]] for (uint i = 0; i < FRAGMENTS_M; ++i)
        fragments[i] = fragment_a(stage, subgroup_row + i * MATRIX_M, step + u);
      [[unroll]] for (uint j = 0; j < FRAGMENTS_N; ++j) {
        const MatrixB fragment = fragment_b(stage, step + u, subgroup_column + j * MATRIX_N);
        [[unroll]] for (uint i = 0; i < FRAGMENTS_M; ++i)
          sums[i][j] = multiply_add(fragments[i], fragment, sums[i][j]);
      }
    }
}

#include "matrix/loop_1.glsl"
#include "matrix/store.glsl"

void main() {
  begin_gemm(gl_WorkGroupID.z);
  const uvec2 tile = tile_position();
  const uint row = tile.y * TILE_M, column = tile.x * TILE_N;
  subgroup_row = gl_SubgroupID / SUBGROUPS_N * SUBGROUP_M;
  subgroup_column = gl_SubgroupID % SUBGROUPS_N * SUBGROUP_N;
  [[unroll]] for (uint i = 0; i < FRAGMENTS_M; ++i)
    [[unroll]] for (uint j = 0; j < FRAGMENTS_N; ++j) sums[i][j] = splat(ELEMENT(0));
  run_k_loop(row, column);
  store_sums(tile, row + subgroup_row, column + subgroup_column);
}
