// One 8-bit element of the stored operand, as float32.
#include "load/bytes_i8.glsl"
layout(binding = 0, std430) readonly buffer Stored { BYTE_WORD stored_words[]; };
float stored_element(uint address) {
  return float(bitfieldExtract(stored_words[address / 4], int(address % 4 * 8), 8));
}
