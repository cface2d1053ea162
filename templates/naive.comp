// C := alpha * A * B + beta * C on every device: one invocation computes one element of C and reads
// its row of op(A) and its column of op(B) from memory.
//: Depends on TILE_M, TILE_N and on how the operands are stored: ALONG_K_A, ALONG_K_B and B_FORMAT.
#include "common/elements.glsl"
#if B_FORMAT == BLOCKS
#extension GL_EXT_control_flow_attributes : enable
#endif

layout(local_size_x = TILE_M * TILE_N) in;

const uint LANES_M = TILE_M;
const uint LANES_N = TILE_N;

#include "common/problem.glsl"
#include "common/raster.glsl"
#include "load/operand.glsl" for A
#if B_FORMAT == PLAIN
#include "load/operand.glsl" for B
#endif

#if ALONG_K_A
ELEMENT element_a(uint i, uint p) { return fetch_a(offset_a + i * lda + p); }
#else
ELEMENT element_a(uint i, uint p) { return fetch_a(offset_a + p * lda + i); }
#endif

#if B_FORMAT == PLAIN
#if ALONG_K_B
ELEMENT element_b(uint p, uint j) { return fetch_b(offset_b + j * ldb + p); }
#else
ELEMENT element_b(uint p, uint j) { return fetch_b(offset_b + p * ldb + j); }
#endif

#elif B_FORMAT == QUANTIZED
#include "load/quantized.glsl"

// The invocation's row of B as stored, and the step of k within that row at which its split of k
// begins.
uint b_row, b_first_step;
void begin_b(uint j) {
  b_row = offset_b / ldb + j;
  b_first_step = offset_b % ldb;
}
ELEMENT element_b(uint p, uint j) {
  const uint step = b_first_step + p;
  const uint word = word_at(fetch_words((b_row * ldb + step) / VALUES_PER_WORD), 0);
  const uint block = step / QUANT_BLOCK, blocks = ldb / QUANT_BLOCK;
  const float value =
      value_minus_zero_point(word, step % VALUES_PER_WORD, zero_point_of(b_row, block, blocks));
  return ELEMENT(value * fetch_scale(b_row * blocks + block));
}

#else
#include "load/blocks.glsl"

// The first byte of the invocation's row of B as stored, and the step of k within that row at which
// its split of k begins.
uint b_row, b_first_step;
void begin_b(uint j) {
  b_row = (offset_b / ldb + j) * (ldb / BLOCK) * BLOCK_BYTES;
  b_first_step = offset_b % ldb;
}
ELEMENT element_b(uint p, uint j) {
  const uint step = b_first_step + p, block = step / BLOCK * BLOCK_BYTES;
  const uint group = step % BLOCK / 16;
  const vec2 scale = group_scale(b_row, block, group, 0);
  const uint values = group_values_word(b_row, block, group, step % 16 / 4);
  return ELEMENT(value_minus_zero_point(values, step % 4) * scale.x - scale.y);
}
#endif

#define PRODUCT_WIDTH 1
#include "common/product.glsl"
#include "epilogue/c.glsl"

void main() {
  begin_gemm(gl_WorkGroupID.z);
  const uvec2 position = tile_position() * uvec2(TILE_N, TILE_M) + lane_position();
  const uint row = position.y, column = position.x;
  if (row >= m || column >= n) return;
  ELEMENT sum = ELEMENT(0);
#if B_FORMAT != PLAIN
  begin_b(column);
#endif
  for (uint p = 0; p < k; ++p) sum += product(element_a(row, p), element_b(p, column));
  const uint c_index = offset_c + row * ldc + column;
  RESULT old = RESULT(0);
  if (beta != 0.0) old = RESULT(beta) * load_c(c_index);  // at beta 0 C may hold NaN
  store_c(c_index, finish(RESULT(sum), old, row, column));
}
