#version 450
// A workgroup moves tiles of A and B through shared memory; an invocation multiplies them into
// REG_M x REG_N sums. Its rows come in fours SPREAD_M * 4 apart and its columns in fours SPREAD_N *
// 4 apart: neighbours read neighbouring vectors of shared memory (no bank conflicts) and write
// neighbouring vectors of C.
#extension GL_GOOGLE_include_directive : enable
#extension GL_EXT_control_flow_attributes : enable
#include "elements_f32.glsl"

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

#include "lanes_blocked.glsl"

// Where the i-th row and the j-th vector of the invocation lie, from its first.
uint row_at(uint i) { return i / 4 * (SPREAD_M * 4) + i % 4; }
uint column_at(uint j) { return j * (SPREAD_N * 4); }

#include "problem.glsl"
#include "vectors.glsl"
#include "edge_masked.glsl"
#include "raster_row.glsl"
#include "a_buffer.glsl"
#include "b_buffer.glsl"
#include "shared_tiles.glsl"
#include "tile_a_n.glsl"
#include "tile_b_n.glsl"

#include "product.glsl"

uvec2 lane;  // where the invocation's first vectors lie in the tile

void multiply_tile(uint stage) {
  for (uint step = 0; step < TILE_K; step += UNROLL_K)
    [[unroll]] for (uint u = 0; u < UNROLL_K; ++u) {
      ELEMENT_4 a[REG_M / 4], b[REG_N / 4];
      [[unroll]] for (uint i = 0; i < REG_M / 4; ++i)
        a[i] = a_tile[stage][step + u][lane.y + i * SPREAD_M];
      [[unroll]] for (uint j = 0; j < REG_N / 4; ++j)
        b[j] = b_tile[stage][step + u][lane.x + j * SPREAD_N];
      [[unroll]] for (uint i = 0; i < REG_M; ++i)
        [[unroll]] for (uint j = 0; j < REG_N / 4; ++j)
          sums[i][j] += product(a[i / 4][i % 4], b[j]);
    }
}

#include "tile_loop_1.glsl"
#include "store_c.glsl"

void main() {
  begin_product(gl_WorkGroupID.z);
  const uvec2 tile = tile_position();
  const uint row = tile.y * TILE_M, column = tile.x * TILE_N;
  lane = lane_in_tile();
  [[unroll]] for (uint i = 0; i < REG_M; ++i)
    [[unroll]] for (uint j = 0; j < REG_N / 4; ++j) sums[i][j] = ELEMENT_4(0);
  multiply_all(row, column);
  store_sums(tile, row + lane.y * 4, column + lane.x * 4);
}
