#version 450
// The textbook kernel: one invocation owns one element of C. Runs everywhere; the baseline.
#extension GL_GOOGLE_include_directive : enable
#include "elements_f32.glsl"

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
#ifndef VECTOR_WIDTH_C
#define VECTOR_WIDTH_C 1
#define RESULT_C float
#endif

layout(local_size_x = TILE_M * TILE_N) in;

const uint LANES_M = TILE_M;
const uint LANES_N = TILE_N;

#include "problem.glsl"
#include "raster_row.glsl"
#include "a_buffer.glsl"
#include "b_buffer.glsl"
#include "element_a_n.glsl"
#include "element_b_n.glsl"

#include "product.glsl"
#include "c_f32.glsl"

void main() {
  begin_product(gl_WorkGroupID.z);
  const uvec2 position = tile_position() * uvec2(TILE_N, TILE_M) + lane_position();
  const uint row = position.y, column = position.x;
  if (row >= m || column >= n) return;
  ELEMENT sum = ELEMENT(0);
  begin_b(column);
  for (uint p = 0; p < k; ++p) sum += product(element_a(row, p), element_b(p, column));
  const uint target = offset_c + row * ldc + column;
  RESULT old = RESULT(0);
  if (beta != 0.0) old = RESULT(beta) * load_c(target);  // beta 0: C may hold NaN
  store_c(target, finish(RESULT(sum), old, row, column));
}
