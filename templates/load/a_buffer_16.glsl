// A in a storage buffer of 16-bit elements, read as 32-bit words so that the device needs no 16-bit
// storage. A vector of four elements is one load of 64 bits.
#if VECTOR_WIDTH_A == 4
layout(binding = 0, std430) readonly buffer OperandA { uvec2 a_words[]; };
VECTOR_A fetch_a(uint vector_index) {
  const uvec2 words = a_words[vector_index];
  return VECTOR_A(widen(words.x), widen(words.y));
}
#else
layout(binding = 0, std430) readonly buffer OperandA { uint a_words[]; };
VECTOR_A fetch_a(uint vector_index) {
#if VECTOR_WIDTH_A == 2
  return VECTOR_A(widen(a_words[vector_index]));
#else
  return VECTOR_A(widen(a_words[vector_index / 2])[vector_index % 2]);
#endif
}
#endif
