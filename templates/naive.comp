#version 450
// Baseline kernel, which runs on every device: one invocation computes one element of C and reads
// its row of op(A) and its column of op(B) from memory.
#extension GL_GOOGLE_include_directive : enable
#include "common/elements_f32.glsl"

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

#include "common/problem.glsl"
#include "common/raster_row.glsl"
#include "load/a_buffer.glsl"
#include "load/b_buffer.glsl"
#include "load/element_a_n.glsl"
#include "load/element_b_n.glsl"

#include "common/product.glsl"
#include "epilogue/c_f32.glsl"

void main() {
  begin_gemm(gl_WorkGroupID.z);
  const uvec2 position = tile_position() * uvec2(TILE_N, TILE_M) + lane_position();
  const uint row = position.y, column = position.x;
  if (row >= m || column >= n) return;
  ELEMENT sum = ELEMENT(0);
  begin_b(column);
  for (uint p = 0; p < k; ++p) sum += product(element_a(row, p), element_b(p, column));
  const uint c_index = offset_c + row * ldc + column;
  RESULT old = RESULT(0);
  if (beta != 0.0) old = RESULT(beta) * load_c(c_index);  // at beta 0 C may hold NaN
  store_c(c_index, finish(RESULT(sum), old, row, column));
}
