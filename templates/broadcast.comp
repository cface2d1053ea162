// C := alpha * A * B + beta * C by subgroups. A workgroup is one subgroup. Its lanes lie along n
// and share all rows of the tile (REG_M equals TILE_M), so that every value of A is loaded once and
// broadcast to all lanes. The columns of a lane are vectors that lie SUBGROUP_SIZE vectors apart.
//:
//: TILE_M, TILE_N    the workgroup's block of C; REG_N: a lane's columns
//: SUBGROUP_SIZE     lanes that the kernel is built for
//: UNROLL_K, TAIL_K  steps of k in a trip of the loop, and in one behind the whole trips
//: STAGE             SUBGROUP: lanes load different vectors of A and share them; else all load the same
#extension GL_EXT_control_flow_attributes : enable
#include "common/elements.glsl"
#extension GL_KHR_shader_subgroup_basic : enable
#extension GL_KHR_shader_subgroup_ballot : enable

layout(local_size_x = SUBGROUP_SIZE) in;

const uint LANES_M = 1;
const uint LANES_N = SUBGROUP_SIZE;
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
