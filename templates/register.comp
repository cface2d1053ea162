#version 450
// One invocation computes REG_M x REG_N elements of C in registers and reads A and B from memory
// itself, without shared memory and barriers. Its columns are vectors that lie LANES_N vectors
// apart, so that neighbouring invocations read and write neighbouring vectors. Also the kernel of
// the family batched_small, with TILE_BATCH matrices of the batch in a workgroup.
#extension GL_GOOGLE_include_directive : enable
#extension GL_EXT_control_flow_attributes : enable
#include "common/elements_f32.glsl"

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
#include "common/raster_row.glsl"
#include "load/a_buffer.glsl"
#include "load/b_buffer.glsl"
#include "fragment/a_n.glsl"
#include "fragment/b_n.glsl"
#include "fragment/multiply_lane.glsl"
#include "fragment/k_loop_masked.glsl"
#include "epilogue/store_c.glsl"

void main() {
  // TILE_BATCH is above 1 only for the family batched_small.
  const uint z = gl_WorkGroupID.z * TILE_BATCH + gl_LocalInvocationID.y;
  if (TILE_BATCH > 1 && z >= batch) return;
  begin_gemm(z);
  const uvec2 tile = tile_position();
  const uvec2 lane = lane_position();
  const uint row = tile.y * TILE_M + lane.y * REG_M;
  const uint column = tile.x * TILE_N + lane.x * VECTOR_WIDTH_C;
  [[unroll]] for (uint i = 0; i < REG_M; ++i)
    [[unroll]] for (uint j = 0; j < REG_N / VECTOR_WIDTH_C; ++j) sums[i][j] = VECTOR_C(0);
  begin_a(row);
  begin_b(column);
  run_k_loop();
  store_sums(tile, row, column);
}
