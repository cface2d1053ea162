// B in a storage buffer of 16-bit elements, read as 32-bit words so that the device needs no 16-bit
// storage. A vector of four elements is one load of 64 bits.
#if VECTOR_WIDTH_B == 4
layout(binding = 1, std430) readonly buffer OperandB { uvec2 b_words[]; };
VECTOR_B fetch_b(uint vector_index) {
  const uvec2 words = b_words[vector_index];
  return VECTOR_B(widen(words.x), widen(words.y));
}
#else
layout(binding = 1, std430) readonly buffer OperandB { uint b_words[]; };
VECTOR_B fetch_b(uint vector_index) {
#if VECTOR_WIDTH_B == 2
  return VECTOR_B(widen(b_words[vector_index]));
#else
  return VECTOR_B(widen(b_words[vector_index / 2])[vector_index % 2]);
#endif
}
#endif
