// B in a storage buffer of 16-bit elements, read as 32-bit words so that the device needs no 16-bit
// storage.
layout(binding = 1, std430) readonly buffer OperandB { uint b_words[]; };
VECTOR_B fetch_b(uint vector_index) {
#if VECTOR_WIDTH_B == 4
  return VECTOR_B(widen(b_words[2 * vector_index]), widen(b_words[2 * vector_index + 1]));
#elif VECTOR_WIDTH_B == 2
  return VECTOR_B(widen(b_words[vector_index]));
#else
  return VECTOR_B(widen(b_words[vector_index / 2])[vector_index % 2]);
#endif
}
