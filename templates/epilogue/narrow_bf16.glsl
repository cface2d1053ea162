// Converts two floats to the bfloat16 halves of a word, the first in the low bits, rounded to
// nearest even. A NaN stays one; it is told by its bits, because drivers may assume that there is none.
uint narrow_c(vec2 x) {
  const uvec2 bits = floatBitsToUint(x);
  const uvec2 rounded = bits + 0x7fffu + (bits >> 16 & 1u);
  const uvec2 upper =
      mix(rounded >> 16, bits >> 16 | 0x40u, greaterThan(bits << 1, uvec2(0xff000000u)));
  return upper.x | upper.y << 16;
}
vec2 widen_c(uint word) { return uintBitsToFloat(uvec2(word << 16, word & 0xffff0000u)); }
