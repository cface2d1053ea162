// A in a storage buffer of 8-bit integers, read as 32-bit words so that the device needs no 8-bit
// storage.
#include "load/bytes_i8.glsl"
layout(binding = 0, std430) readonly buffer OperandA { BYTE_WORD a_words[]; };
VECTOR_A fetch_a(uint vector_index) {
  const BYTE_WORD word = a_words[vector_index * VECTOR_WIDTH_A / 4];
#if VECTOR_WIDTH_A == 4
  return ivec4(bitfieldExtract(word, 0, 8), bitfieldExtract(word, 8, 8), bitfieldExtract(word, 16, 8),
               word >> 24);
#else
  const int first = int(vector_index * VECTOR_WIDTH_A % 4 * 8);
#if VECTOR_WIDTH_A == 2
  return ivec2(bitfieldExtract(word, first, 8), bitfieldExtract(word, first + 8, 8));
#else
  return int(bitfieldExtract(word, first, 8));
#endif
#endif
}
