// B quantised in the layout of ONNX Runtime's MatMulNBits: n rows of whole blocks of QUANT_BLOCK
// values of QUANT_BITS bits along k, the first value in the low bits of a word. A stored value q
// stands for (q - zero point) * scale.
#ifndef QUANT_BITS
#define QUANT_BITS 4
#endif
#ifndef QUANT_BLOCK
#define QUANT_BLOCK 32
#endif
// 0: the middle of the range; 1: packed integers of QUANT_BITS; 2: floats.
#ifndef ZERO_POINT
#define ZERO_POINT 0
#endif
#ifndef SCALE_BYTES
#define SCALE_BYTES 4
#define SCALE_WORD float
#endif
#ifndef B_BINDING
#define B_BINDING 1
#endif
#ifndef SCALE_BINDING
#define SCALE_BINDING 3
#endif
#ifndef WORD_VECTOR
#define WORD_VECTOR uvec4
#define WORD_VECTOR_WIDTH 4
#endif

#include "load/quantized_texel.glsl"

const uint VALUES_PER_WORD = 32 / QUANT_BITS;
uint word_at(uint x, uint i) { return x; }
uint word_at(uvec4 x, uint i) { return x[i]; }

// The i-th value q of a word minus its zero point, without an integer conversion: a float with the
// exponent of 2^(23 - b) and with the bits of q from bit b of the mantissa on is the number
// 2^(23 - b) + q, from which the subtraction is exact. b is mantissa_bit. A value whose bits lie
// beyond the mantissa is shifted first, several values by the same shift.
float value_minus_zero_point(uint word, uint i, float zero) {
  const uint bit = i * QUANT_BITS, shift = bit + QUANT_BITS <= 20 ? 0 : (QUANT_BITS == 4 ? 12 : 16);
  const uint mantissa_bit = bit - shift;
  const uint bits = (word >> shift) & ((1u << QUANT_BITS) - 1u) << mantissa_bit |
                    (150 - mantissa_bit) << 23;
  const float base = uintBitsToFloat((150 - mantissa_bit) << 23);
#if ZERO_POINT == 2
  return uintBitsToFloat(bits) - base - zero;
#else
  return uintBitsToFloat(bits) - (base + zero);
#endif
}

// Address of the first zero point of a row of B, and the zero point of one of its blocks.
uint zero_point_row(uint row, uint blocks) {
#if ZERO_POINT == 1
  return row * ((blocks * QUANT_BITS + 7) / 8);
#else
  return row * blocks;
#endif
}
float zero_point_at(uint first, uint block) {
#if ZERO_POINT == 1
  const uint bit = block * QUANT_BITS, byte = fetch_zero_point_byte(first + bit / 8);
  return float(QUANT_BITS == 8 ? byte : bitfieldExtract(byte, int(bit % 8), QUANT_BITS));
#elif ZERO_POINT == 2
  return fetch_zero_point(first + block);
#else
  return float(1 << (QUANT_BITS - 1));
#endif
}
float zero_point_of(uint row, uint block, uint blocks) {
  return zero_point_at(zero_point_row(row, blocks), block);
}
