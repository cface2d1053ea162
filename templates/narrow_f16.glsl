// Two floats of C in a word, the first in the low bits: IEEE half precision. Magnitudes from 65520 on
// become infinity, as rounding to nearest demands. packHalf2x16 alone does not promise that: Vulkan lets
// a driver return 65504 there, and SwiftShader 5.0 returns NaN, also for infinity.
uint narrow_c(vec2 x) {
  const uint word = packHalf2x16(x);
  const uvec2 infinity = floatBitsToUint(x) >> 16 & 0x8000u | 0x7c00u;
  const uvec2 halves =
      mix(uvec2(word & 0xffffu, word >> 16), infinity, greaterThanEqual(abs(x), vec2(65520)));
  return halves.x | halves.y << 16;
}
vec2 widen_c(uint word) { return unpackHalf2x16(word); }
