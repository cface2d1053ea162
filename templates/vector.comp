#version 450
// For few rows or few columns of C, where memory is the limit. An invocation owns REG_M x REG_N of
// C for its share of k: LANES_K invocations take turns along k and add their sums at the end, always
// in the same order.
#extension GL_GOOGLE_include_directive : enable
#extension GL_EXT_control_flow_attributes : enable
#include "elements_f32.glsl"

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
uint lane_k;

// Where the i-th row and the j-th vector of the invocation lie, from its first.
uint row_at(uint i) { return i; }
uint column_at(uint j) { return j * LANES_N * VECTOR_WIDTH_C; }

#include "problem.glsl"
#include "vectors.glsl"
#include "edge_masked.glsl"
#include "raster_row.glsl"
#include "a_buffer.glsl"
#include "b_buffer.glsl"
#include "fragment_a_n.glsl"
#include "fragment_b_n.glsl"
#include "multiply_lane.glsl"
#include "k_loop_lanes.glsl"
#include "add_lanes_shared.glsl"
#include "store_c.glsl"

void main() {
  begin_product(gl_WorkGroupID.z);
  const uvec2 tile = tile_position();
  // Neighbours lie along the dimension in which the large operand is contiguous: k if K_FASTEST.
  const uint lanes = LANES_M * LANES_N;
  lane_k = K_FASTEST == 1 ? gl_LocalInvocationIndex % LANES_K : gl_LocalInvocationIndex / lanes;
  const uint other = K_FASTEST == 1 ? gl_LocalInvocationIndex / LANES_K : gl_LocalInvocationIndex % lanes;
  const uint row = tile.y * TILE_M + other / LANES_N * REG_M;
  const uint column = tile.x * TILE_N + other % LANES_N * VECTOR_WIDTH_C;
  [[unroll]] for (uint i = 0; i < REG_M; ++i)
    [[unroll]] for (uint j = 0; j < REG_N / VECTOR_WIDTH_C; ++j) sums[i][j] = VECTOR_C(0);
  begin_a(row);
  begin_b(column);
  multiply_all();
  add_lanes();
  if (lane_k == 0) store_sums(tile, row, column);
}
