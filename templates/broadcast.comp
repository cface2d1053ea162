#version 450
// One subgroup a workgroup: its lanes lie along n, and every value of A serves all of them. REG_M
// == TILE_M rows; a lane's columns come as vectors SUBGROUP_SIZE apart.
#extension GL_GOOGLE_include_directive : enable
#extension GL_EXT_control_flow_attributes : enable
#include "elements_f32.glsl"
#extension GL_KHR_shader_subgroup_basic : enable
#extension GL_KHR_shader_subgroup_ballot : enable

#ifndef TILE_M
#define TILE_M 32
#endif
#ifndef TILE_N
#define TILE_N 128
#endif
#ifndef REG_M
#define REG_M 32
#endif
#ifndef REG_N
#define REG_N 16
#endif
#ifndef UNROLL_K
#define UNROLL_K 8
#endif
#ifndef TAIL_K
#define TAIL_K 8
#endif
#ifndef SUBGROUP_SIZE
#define SUBGROUP_SIZE 8
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

layout(local_size_x = SUBGROUP_SIZE) in;

const uint LANES_M = 1;
const uint LANES_N = SUBGROUP_SIZE;

VECTOR_C sums[REG_M][REG_N / VECTOR_WIDTH_C];

// Where the i-th row and the j-th vector of the lane lie, from its first.
uint row_at(uint i) { return i; }
uint column_at(uint j) { return j * LANES_N * VECTOR_WIDTH_C; }

#include "problem.glsl"
#include "vectors.glsl"
#include "edge_masked.glsl"
#include "raster_column.glsl"
#include "a_texel.glsl"
#include "b_texel.glsl"
#include "fragment_a_packed.glsl"
#include "fragment_b_packed.glsl"
#include "multiply_lane.glsl"
#include "k_loop_whole.glsl"
#include "store_c.glsl"

void main() {
  begin_product(gl_WorkGroupID.z);
  const uvec2 tile = tile_position();
  const uint row = tile.y * TILE_M;
  const uint column = tile.x * TILE_N + gl_LocalInvocationIndex * VECTOR_WIDTH_C;
  [[unroll]] for (uint i = 0; i < REG_M; ++i)
    [[unroll]] for (uint j = 0; j < REG_N / VECTOR_WIDTH_C; ++j) sums[i][j] = VECTOR_C(0);
  begin_a(row);
  begin_b(column);
  multiply_all();
  store_sums(tile, row, column);
}
