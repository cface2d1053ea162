#version 450
// A workgroup is one subgroup. Its lanes lie along n and share all rows of the tile (REG_M equals
// TILE_M), so that every value of A is loaded once and broadcast to all lanes. The columns of a
// lane are vectors that lie SUBGROUP_SIZE vectors apart.
#extension GL_GOOGLE_include_directive : enable
#extension GL_EXT_control_flow_attributes : enable
#include "common/elements_f32.glsl"
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
const uint LANES_K = 1;     // an invocation handles all steps of k,
const uint first_step = 0;  // from the first one on

VECTOR_C sums[REG_M][REG_N / VECTOR_WIDTH_C];

// Distance, in elements of C, of the i-th row and of the j-th vector of columns from the invocation's
// first.
uint row_offset(uint i) { return i; }
uint column_offset(uint j) { return j * LANES_N * VECTOR_WIDTH_C; }

#include "common/problem.glsl"
#include "common/vectors.glsl"
#include "common/edge_masked.glsl"
#include "common/raster_column.glsl"
#include "load/a_texel.glsl"
#include "load/b_texel.glsl"
#include "fragment/a_packed.glsl"
#include "fragment/b_packed.glsl"
#include "fragment/multiply_lane.glsl"
#include "fragment/k_loop_whole.glsl"
#include "epilogue/store_c.glsl"

void main() {
  begin_gemm(gl_WorkGroupID.z);
  const uvec2 tile = tile_position();
  const uint row = tile.y * TILE_M;
  const uint column = tile.x * TILE_N + gl_LocalInvocationIndex * VECTOR_WIDTH_C;
  [[unroll]] for (uint i = 0; i < REG_M; ++i)
    [[unroll]] for (uint j = 0; j < REG_N / VECTOR_WIDTH_C; ++j) sums[i][j] = VECTOR_C(0);
  begin_a(row);
  begin_b(column);
  run_k_loop();
  store_sums(tile, row, column);
}
