// The stored operand is a B in blocks. Reads four elements of one row along depth. The first one's
// step is a multiple of four.
#include "load/blocks.glsl"

vec4 read_four(uint address, uint count) {
  const uint step = address % ld;
  const uint block = address / BLOCK * BLOCK_BYTES;  // rows are whole blocks
  const uint group = step % BLOCK / 16;
  const uint values = group_values_word(0, block, group, step % 16 / 4);
  const vec2 scale = group_scale(0, block, group, 0);
  vec4 x;
  [[unroll]] for (uint i = 0; i < 4; ++i)
    x[i] = value_minus_zero_point(values, i) * scale.x - scale.y;
  return keep_first(x, count);
}
