// As load/block_bits.glsl, with the exponents in registers. NVIDIA's LOP3 has one constant of 32 bits,
// so that mask and exponent take two of them where compilers know both. A zero that they do not know
// hides the exponents.
uint exponents[5];  // for each bit of the mantissa at which values begin, 0 to 16

void hold_exponents() {
  const uint hidden_zero = n == 0 ? 1 : 0;
  [[unroll]] for (uint b = 0; b < 20; b += 4)
    exponents[b / 4] = (150 - b - (BLOCK_FORMAT == 7 ? 1 : 0)) << 23 | hidden_zero;
}

float bits_minus_zero_point(uint word, uint bit, uint bits, uint flipped) {
  const uint shift = bit + bits <= 20 ? 0 : (bits == 4 ? 12 : 16), b = bit - shift;
  const float exponent = uintBitsToFloat((150 - b - (BLOCK_FORMAT == 7 ? 1 : 0)) << 23);
  const uint x = word >> shift & ((1u << bits) - 1u) << b ^ (exponents[b / 4] | flipped << b);
  return uintBitsToFloat(x) - (exponent + float(ZERO_POINT) * (BLOCK_FORMAT == 7 ? 0.5 : 1.0));
}
