#version 450
// One invocation owns REG_M x REG_N of C in registers and reads A and B itself: no shared memory,
// no barrier. Its columns come as vectors LANES_N apart, so that neighbouring invocations read
// and write neighbouring vectors.
#extension GL_GOOGLE_include_directive : enable
#extension GL_EXT_control_flow_attributes : enable
#include "elements_f32.glsl"

#ifndef TILE_M
#define TILE_M 8
#endif
#ifndef TILE_N
#define TILE_N 32
#endif
#ifndef REG_M
#define REG_M 4
#endif
#ifndef REG_N
#define REG_N 4
#endif
#ifndef TILE_BATCH
#define TILE_BATCH 1
#endif
#ifndef UNROLL_K
#define UNROLL_K 4
#endif
#ifndef TAIL_K
#define TAIL_K 4
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

layout(local_size_x = (TILE_M / REG_M) * (TILE_N / REG_N), local_size_y = TILE_BATCH) in;

const uint LANES_M = TILE_M / REG_M;
const uint LANES_N = TILE_N / REG_N;

VECTOR_C sums[REG_M][REG_N / VECTOR_WIDTH_C];

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
#include "k_loop_masked.glsl"
#include "store_c.glsl"

void main() {
  // Family batched_small: TILE_BATCH products a workgroup.
  const uint z = gl_WorkGroupID.z * TILE_BATCH + gl_LocalInvocationID.y;
  if (TILE_BATCH > 1 && z >= batch) return;
  begin_product(z);
  const uvec2 tile = tile_position();
  const uvec2 lane = lane_position();
  const uint row = tile.y * TILE_M + lane.y * REG_M;
  const uint column = tile.x * TILE_N + lane.x * VECTOR_WIDTH_C;
  [[unroll]] for (uint i = 0; i < REG_M; ++i)
    [[unroll]] for (uint j = 0; j < REG_N / VECTOR_WIDTH_C; ++j) sums[i][j] = VECTOR_C(0);
  begin_a(row);
  begin_b(column);
  multiply_all();
  store_sums(tile, row, column);
}
