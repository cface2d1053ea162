// A as a storage buffer of 8-bit integers, read by whole words: no device needs 8-bit storage for
// it.
layout(binding = 0, std430) readonly buffer OperandA { int a_words[]; };
VECTOR_A fetch_a(uint vector_index) {
  const int word = a_words[vector_index * VECTOR_WIDTH_A / 4];
#if VECTOR_WIDTH_A == 4
  return ivec4(bitfieldExtract(word, 0, 8), bitfieldExtract(word, 8, 8), bitfieldExtract(word, 16, 8),
               word >> 24);
#else
  const int first = int(vector_index * VECTOR_WIDTH_A % 4 * 8);
#if VECTOR_WIDTH_A == 2
  return ivec2(bitfieldExtract(word, first, 8), bitfieldExtract(word, first + 8, 8));
#else
  return bitfieldExtract(word, first, 8);
#endif
#endif
}
