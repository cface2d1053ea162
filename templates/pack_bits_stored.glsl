// Elements as they are.
layout(binding = 0, std430) readonly buffer Stored { uint stored_words[]; };
uint stored_bits(uint address) {
  return bitfieldExtract(stored_words[address / PER_WORD], int(address % PER_WORD * BITS), BITS);
}
