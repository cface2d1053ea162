#version 450
// The textbook kernel: one invocation owns one element of C. Runs everywhere; the baseline.
#extension GL_GOOGLE_include_directive : enable

#ifndef TILE_M
#define TILE_M 8
#endif
#ifndef TILE_N
#define TILE_N 8
#endif

#ifndef VECTOR_WIDTH_A
#define VECTOR_WIDTH_A 1
#define VECTOR_A float
#endif
#ifndef VECTOR_WIDTH_B
#define VECTOR_WIDTH_B 1
#define VECTOR_B float
#endif

layout(local_size_x = TILE_M * TILE_N) in;

const uint LANES_M = TILE_M;
const uint LANES_N = TILE_N;

#include "problem.glsl"
#include "raster_row.glsl"
#include "index_a_n.glsl"
#include "index_b_n.glsl"

#include "a_buffer.glsl"
#include "b_buffer.glsl"

layout(binding = 2, std430) buffer OperandC { float c[]; };

void main() {
  begin_product(gl_WorkGroupID.z);
  const uvec2 position = tile_position() * uvec2(TILE_N, TILE_M) + lane_position();
  const uint row = position.y, column = position.x;
  if (row >= m || column >= n) return;
  float sum = 0.0;
  for (uint p = 0; p < k; ++p) sum += fetch_a(index_a(row, p)) * fetch_b(index_b(p, column));
  const uint target = offset_c + row * ldc + column;
  const float old = beta != 0.0 ? beta * c[target] : 0.0;  // beta 0: C may hold NaN
  c[target] = finish(sum, old, row, column);
}
