// One element at a time (family naive) of a B in blocks.
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
