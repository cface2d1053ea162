#version 450
// For a C of few rows or few columns, where memory bandwidth is the limit. LANES_K invocations
// share one block of REG_M x REG_N elements of C: each takes every LANES_K-th group of UNROLL_K
// steps of k, and their partial sums are added at the end in a fixed order.
#extension GL_GOOGLE_include_directive : enable
#extension GL_EXT_control_flow_attributes : enable
#include "common/elements_f32.glsl"

#ifndef TILE_M
#define TILE_M 1
#endif
#ifndef TILE_N
#define TILE_N 32
#endif
#ifndef TILE_K
#define TILE_K 32
#endif
#ifndef REG_M
#define REG_M 1
#endif
#ifndef REG_N
#define REG_N 4
#endif
#ifndef UNROLL_K
#define UNROLL_K 4
#endif
#ifndef TAIL_K
#define TAIL_K 4
#endif
#ifndef K_FASTEST
#define K_FASTEST 0
#endif
#ifndef VECTOR_WIDTH_A
#define VECTOR_WIDTH_A 4
#define VECTOR_A vec4
#endif
#ifndef VECTOR_WIDTH_B
#define VECTOR_WIDTH_B 4
#define VECTOR_B vec4
#endif
#ifndef VECTOR_WIDTH_C
#define VECTOR_WIDTH_C 4
#define VECTOR_C vec4
#define RESULT_C vec4
#endif

layout(local_size_x = (TILE_K / UNROLL_K) * (TILE_M / REG_M) * (TILE_N / REG_N)) in;

const uint LANES_M = TILE_M / REG_M;
const uint LANES_N = TILE_N / REG_N;
const uint LANES_K = TILE_K / UNROLL_K;
const uint LOCAL_SIZE = LANES_M * LANES_N * LANES_K;

VECTOR_C sums[REG_M][REG_N / VECTOR_WIDTH_C];
uint lane_k;      // the invocation's place among those that share a block of C
uint first_step;  // its first step of k

// Distance, in elements of C, of the i-th row and of the j-th vector of columns from the invocation's
// first.
uint row_offset(uint i) { return i; }
uint column_offset(uint j) { return j * LANES_N * VECTOR_WIDTH_C; }

#include "common/problem.glsl"
#include "common/vectors.glsl"
#include "common/edge_masked.glsl"
#include "common/raster_row.glsl"
#include "load/a_buffer.glsl"
#include "load/b_buffer.glsl"
#include "fragment/a_n.glsl"
#include "fragment/b_n.glsl"
#include "fragment/multiply_lane.glsl"
#include "fragment/k_loop_lanes.glsl"
#include "fragment/add_lanes_shared.glsl"
#include "epilogue/store_c.glsl"

void main() {
  begin_gemm(gl_WorkGroupID.z);
  const uvec2 tile = tile_position();
  // Neighbouring invocations lie along the dimension in which the large operand is contiguous in
  // memory: along k if K_FASTEST is 1, else along m and n.
  const uint lanes = LANES_M * LANES_N;
  lane_k = K_FASTEST == 1 ? gl_LocalInvocationIndex % LANES_K : gl_LocalInvocationIndex / lanes;
  first_step = lane_k * UNROLL_K;
  const uint lane_mn =
      K_FASTEST == 1 ? gl_LocalInvocationIndex / LANES_K : gl_LocalInvocationIndex % lanes;
  const uint row = tile.y * TILE_M + lane_mn / LANES_N * REG_M;
  const uint column = tile.x * TILE_N + lane_mn % LANES_N * VECTOR_WIDTH_C;
  [[unroll]] for (uint i = 0; i < REG_M; ++i)
    [[unroll]] for (uint j = 0; j < REG_N / VECTOR_WIDTH_C; ++j) sums[i][j] = VECTOR_C(0);
  begin_a(row);
  begin_b(column);
  run_k_loop();
  add_lanes();
  if (lane_k == 0) store_sums(tile, row, column);
}
