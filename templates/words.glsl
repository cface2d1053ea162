// Words of several elements, the first in the low bits.
uint keep_word(uint x, uint first, uint count) {
  const uint left = count > first ? min(count - first, OPERANDS_PER_WORD) : 0u;
  return left == OPERANDS_PER_WORD ? x : x & ((1u << left * OPERAND_BITS) - 1u);
}

// The first count elements, zero in the others.
uint keep(uint x, uint count) { return keep_word(x, 0, count); }
uvec2 keep(uvec2 x, uint count) {
  return uvec2(keep_word(x.x, 0, count), keep_word(x.y, OPERANDS_PER_WORD, count));
}
uvec4 keep(uvec4 x, uint count) {
  return uvec4(keep(x.xy, count), keep_word(x.z, 2 * OPERANDS_PER_WORD, count), keep_word(x.w, 3 * OPERANDS_PER_WORD, count));
}
