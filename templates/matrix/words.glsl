// The function keep_first of common/vectors.glsl for vectors of 32-bit words that hold several
// elements, the first in the low bits.

// The word x, whose elements are those from first on of a vector, with zeros from element count on.
uint keep_first_in_word(uint x, uint first, uint count) {
  const uint left = count > first ? min(count - first, ELEMENTS_PER_WORD) : 0u;
  return left == ELEMENTS_PER_WORD ? x : x & ((1u << left * OPERAND_BITS) - 1u);
}

// x with zeros behind its first count elements.
uint keep_first(uint x, uint count) { return keep_first_in_word(x, 0, count); }
uvec2 keep_first(uvec2 x, uint count) {
  return uvec2(keep_first_in_word(x.x, 0, count), keep_first_in_word(x.y, ELEMENTS_PER_WORD, count));
}
uvec4 keep_first(uvec4 x, uint count) {
  return uvec4(keep_first(x.xy, count), keep_first_in_word(x.z, 2 * ELEMENTS_PER_WORD, count),
               keep_first_in_word(x.w, 3 * ELEMENTS_PER_WORD, count));
}

// Word i of a vector.
uint word_of(uint x, uint i) { return x; }
uint word_of(uvec2 x, uint i) { return x[i]; }
uint word_of(uvec4 x, uint i) { return x[i]; }
