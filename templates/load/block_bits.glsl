// The value of 4 or 8 bits from `bit` on, with some bits flipped, minus the zero point, without an
// integer conversion: a float with the exponent of 2^(23 - b) and with the value from bit b of the
// mantissa on is the number 2^(23 - b) + value, from which the subtraction is exact. A value whose bits
// lie beyond the mantissa is shifted first, several values by the same shift.
float bits_minus_zero_point(uint word, uint bit, uint bits, uint flipped) {
  const uint shift = bit + bits <= 20 ? 0 : (bits == 4 ? 12 : 16), b = bit - shift;
  const uint exponent = (150 - b - (BLOCK_FORMAT == 7 ? 1 : 0)) << 23;
  const uint x = word >> shift & ((1u << bits) - 1u) << b ^ (exponent | flipped << b);
  return uintBitsToFloat(x) -
         (uintBitsToFloat(exponent) + float(ZERO_POINT) * (BLOCK_FORMAT == 7 ? 0.5 : 1.0));
}
