//: Elements of 8 and 16 bits lie in 32-bit words, so that the device needs no storage of fewer
//: bits; the first one lies in the low bits. Depends on TYPE, and on MULTIPLIES_INT8: whether A is
//: rounded to 8-bit integers.

#if TYPE == F16
// The two float16 elements of a word, as float32.
vec2 widen(uint word) { return unpackHalf2x16(word); }
#elif TYPE == BF16
// The two bfloat16 elements of a word, as float32, of which a bfloat16 is the upper half.
vec2 widen(uint word) { return uintBitsToFloat(uvec2(word << 16, word & 0xffff0000u)); }
#elif TYPE == I8
// A word of four integers: bitfieldExtract extends the sign.
#define BYTE_WORD int
#elif TYPE == U8
// A word of four integers: bitfieldExtract fills with zeros.
#define BYTE_WORD uint
#endif

#if MULTIPLIES_INT8
// The bits of the largest magnitude: they are in the order of magnitudes, and those of NaN last.
uint largest_magnitude(vec4 x) {
  const uvec4 bits = floatBitsToUint(abs(x));
  return max(max(bits.x, bits.y), max(bits.z, bits.w));
}

// The scale of numbers with this largest magnitude, which is it, or NaN where it is not finite.
float scale_of(uint largest) {
  return uintBitsToFloat(largest | (largest < 0x7f800000u ? 0 : 0x7fc00000u));
}

// The numbers as 8-bit integers, which count 1/127 of their scale, in a word with the first one in
// the low bits. Beside a scale that is NaN they may be any.
int rounded(vec4 x, uint largest) {
  const float scale = uintBitsToFloat(largest);
  // Small numbers are multiplied by 2^64, and the scale of zeros and denormals counts as 2^-126,
  // so that the inverse is finite.
  const float up = scale < 1e-19 ? 18446744073709551616.0 : 1.0,
              inverse = 127 / max(scale * up, 2.16840434e-19);
  // A sum with 1.5 * 2^23 is rounded to a whole number, and the lowest byte of its bits is that of
  // the integer. NVIDIA's instructions that round and convert take eight times as long as the
  // addition. Devices round it to nearest, as certificates check.
  const uvec4 bytes = floatBitsToUint(x * up * inverse + 12582912.0) & 0xffu;
  return int(bytes.x | bytes.y << 8 | bytes.z << 16 | bytes.w << 24);
}
#endif
