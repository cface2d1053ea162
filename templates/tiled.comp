#version 450
// A workgroup copies tiles of A and B into shared memory, and an invocation multiplies them into
// REG_M x REG_N sums. Its rows are groups of four that lie VECTOR_STRIDE_M * 4 rows apart, its
// columns groups of four that lie VECTOR_STRIDE_N * 4 columns apart: neighbouring invocations then
// read neighbouring vectors of shared memory, without bank conflicts, and write neighbouring
// vectors of C.
#extension GL_GOOGLE_include_directive : enable
#extension GL_EXT_control_flow_attributes : enable
#include "common/elements_f32.glsl"

#ifndef TILE_M
#define TILE_M 64
#endif
#ifndef TILE_N
#define TILE_N 64
#endif
#ifndef TILE_K
#define TILE_K 16
#endif
#ifndef STAGES
#define STAGES 1
#endif
#ifndef SHARED_PAD
#define SHARED_PAD 4
#endif
#ifndef REG_M
#define REG_M 4
#endif
#ifndef REG_N
#define REG_N 4
#endif
#ifndef UNROLL_K
#define UNROLL_K 16
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

layout(local_size_x = (TILE_M / REG_M) * (TILE_N / REG_N)) in;

const uint LANES_M = TILE_M / REG_M;
const uint LANES_N = TILE_N / REG_N;
const uint LOCAL_SIZE = LANES_M * LANES_N;

ELEMENT_4 sums[REG_M][REG_N / 4];

#include "tile/lanes_blocked.glsl"

// Distance, in elements of C, of the i-th row and of the j-th vector of columns from the invocation's
// first.
uint row_offset(uint i) { return i / 4 * (VECTOR_STRIDE_M * 4) + i % 4; }
uint column_offset(uint j) { return j * (VECTOR_STRIDE_N * 4); }

#include "common/problem.glsl"
#include "common/vectors.glsl"
#include "common/edge_masked.glsl"
#include "common/raster_row.glsl"
#include "load/a_buffer.glsl"
#include "load/b_buffer.glsl"
#include "tile/shared_tiles.glsl"
#include "tile/a_n.glsl"
#include "tile/b_n.glsl"

#include "common/product.glsl"

// Position of the invocation's first vectors in the tile: x along n and y along m, in vectors.
uvec2 lane;

void multiply_tile(uint a_stage, uint b_stage) {
  for (uint step = 0; step < TILE_K; step += UNROLL_K)
    [[unroll]] for (uint u = 0; u < UNROLL_K; ++u) {
      ELEMENT_4 a[REG_M / 4], b[REG_N / 4];
      [[unroll]] for (uint i = 0; i < REG_M / 4; ++i)
        a[i] = a_tile[a_stage + (step + u) * A_STEP + lane.y + i * VECTOR_STRIDE_M];
      [[unroll]] for (uint j = 0; j < REG_N / 4; ++j)
        b[j] = b_tile[b_stage + (step + u) * B_STEP + lane.x + j * VECTOR_STRIDE_N];
      [[unroll]] for (uint i = 0; i < REG_M; ++i)
        [[unroll]] for (uint j = 0; j < REG_N / 4; ++j)
          sums[i][j] += product(a[i / 4][i % 4], b[j]);
    }
}

#include "tile/loop_1.glsl"
#include "epilogue/store_c.glsl"

void main() {
  begin_gemm(gl_WorkGroupID.z);
  const uvec2 tile = tile_position();
  const uint row = tile.y * TILE_M, column = tile.x * TILE_N;
  lane = lane_in_tile();
  [[unroll]] for (uint i = 0; i < REG_M; ++i)
    [[unroll]] for (uint j = 0; j < REG_N / 4; ++j) sums[i][j] = ELEMENT_4(0);
  run_k_loop(row, column);
  store_sums(tile, row + lane.y * 4, column + lane.x * 4);
}
