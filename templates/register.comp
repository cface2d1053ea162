// C := alpha * A * B + beta * C in registers: one invocation computes REG_M x REG_N elements of C
// and reads A and B from memory itself, without shared memory and barriers. Its columns are vectors
// that lie LANES_N vectors apart, so that neighbouring invocations read and write neighbouring
// vectors. Also the kernel of the family batched_small, with TILE_BATCH matrices of the batch in a
// workgroup.
//:
//: TILE_M, TILE_N    a workgroup's block of C; REG_M, REG_N: an invocation's
//: UNROLL_K, TAIL_K  steps of k in a trip of the loop, and in one behind the whole trips
//: VECTOR_WIDTH_*    elements a load or a store
#extension GL_EXT_control_flow_attributes : enable
#include "common/elements.glsl"

layout(local_size_x = (TILE_M / REG_M) * (TILE_N / REG_N), local_size_y = TILE_BATCH) in;

const uint LANES_M = TILE_M / REG_M;
const uint LANES_N = TILE_N / REG_N;
const uint LANES_K = 1;     // an invocation handles all steps of k,
const uint first_step = 0;  // from the first one on

VECTOR_C sums[REG_M][REG_N / VECTOR_WIDTH_C];

// Distance, in elements of C, of the i-th row and of the j-th vector of columns from the
// invocation's first.
uint row_offset(uint i) { return i; }
uint column_offset(uint j) { return j * LANES_N * VECTOR_WIDTH_C; }

#include "common/problem.glsl"
#include "common/vectors.glsl"
#include "common/edge.glsl"
#include "common/raster.glsl"
#include "load/operand.glsl" for A
#if B_FORMAT == PLAIN
#include "load/operand.glsl" for B
#endif
#include "fragment/a.glsl"
#include "fragment/b.glsl"
#include "fragment/multiply.glsl"
#include "fragment/k_loop.glsl"
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
