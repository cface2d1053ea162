//: Converts two floats to the 16-bit halves of a word, the first in the low bits, and back.
#if TYPE_C == F16
// Magnitudes from 65520 on become infinity, as rounding to nearest demands, and a NaN stays one.
// packHalf2x16 sees neither: Vulkan lets a driver turn such a magnitude into 65504, and SwiftShader
// 5.0 turns infinities into NaN and overwrites the second half when the first overflows.
uint narrow_c(vec2 x) {
  const uvec2 bits = floatBitsToUint(x), magnitude = bits << 1;  // without the sign
  const bvec2 fits = lessThan(magnitude, uvec2(0x8effe000u));    // 65520.0
  const uvec2 beyond = bits >> 16 & 0x8000u |
                       mix(uvec2(0x7c00u), uvec2(0x7e00u), greaterThan(magnitude, uvec2(0xff000000u)));
  const uint word = packHalf2x16(mix(vec2(0), x, fits));
  const uvec2 halves = mix(beyond, uvec2(word & 0xffffu, word >> 16), fits);
  return halves.x | halves.y << 16;
}
vec2 widen_c(uint word) { return unpackHalf2x16(word); }
#elif TYPE_C == BF16
// To bfloat16, rounded to nearest even. A NaN stays one; it is told by its bits, because drivers
// may assume that there is none.
uint narrow_c(vec2 x) {
  const uvec2 bits = floatBitsToUint(x);
  const uvec2 rounded = bits + 0x7fffu + (bits >> 16 & 1u);
  const uvec2 upper =
      mix(rounded >> 16, bits >> 16 | 0x40u, greaterThan(bits << 1, uvec2(0xff000000u)));
  return upper.x | upper.y << 16;
}
vec2 widen_c(uint word) { return uintBitsToFloat(uvec2(word << 16, word & 0xffff0000u)); }
#else
#error C has no such type of 16 bits
#endif
