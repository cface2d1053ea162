// B as MatMulNBits stores it: n rows of whole blocks of BLOCK values of BITS along k, the first in a
// word's low bits. A value q stands for (q - zero point) * scale.
#ifndef BITS
#define BITS 4
#endif
#ifndef BLOCK
#define BLOCK 32
#endif
// 0: in the middle, 1: packed, 2: float.
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
#ifndef WORDS
#define WORDS uvec4
#define WORDS_WIDTH 4
#endif

#include "quantized_texel.glsl"

const uint PER_WORD = 32 / BITS;
uint word_of(uint x, uint i) { return x; }
uint word_of(uvec4 x, uint i) { return x[i]; }

// The i-th value of a word, less its zero point. No conversion: put behind the exponent of 2^(23 - at),
// the bits of q at bit `at` of the mantissa are the number 2^(23 - at) + q, of which the difference is
// exact. Values that do not lie in the mantissa are shifted there, several with one shift.
float value_of(uint word, uint i, float zero) {
  const uint place = i * BITS, shift = place + BITS <= 20 ? 0 : (BITS == 4 ? 12 : 16);
  const uint at = place - shift;
  const uint bits = (word >> shift) & ((1u << BITS) - 1u) << at | (150 - at) << 23;
  const float base = uintBitsToFloat((150 - at) << 23);
#if ZERO_POINT == 2
  return uintBitsToFloat(bits) - base - zero;
#else
  return uintBitsToFloat(bits) - (base + zero);
#endif
}

float zero_of(uint row, uint block, uint blocks) {
#if ZERO_POINT == 1
  const uint bit = block * BITS;
  const uint byte = fetch_zero_byte(row * ((blocks * BITS + 7) / 8) + bit / 8);
  return float(BITS == 8 ? byte : bitfieldExtract(byte, int(bit % 8), BITS));
#elif ZERO_POINT == 2
  return fetch_zero(row * blocks + block);
#else
  return float(1 << (BITS - 1));
#endif
}
