//: B quantised in the layout of ONNX Runtime's MatMulNBits: n rows of whole blocks of QUANT_BLOCK
//: values of QUANT_BITS bits along k, the first value in the low bits of a word. A stored value q
//: stands for (q - zero point) * scale. fetch_words counts vectors of words, fetch_scale and
//: fetch_zero_point blocks, fetch_zero_point_byte bytes of packed zero points. Depends on
//: LOAD_PATH_B, on SCALE_BYTES (2: scales and zero points are float16), and on ZERO_POINT: MIDDLE
//: of the range, PACKED integers of QUANT_BITS, or FLOAT.

#if LOAD_PATH_B == TEXEL
// Uniform texel buffers.
layout(binding = B_BINDING) uniform usamplerBuffer b;
layout(binding = SCALE_BINDING) uniform samplerBuffer scales;

WORD_VECTOR fetch_words(uint vector_index) { return WORD_VECTOR(texelFetch(b, int(vector_index))); }
float fetch_scale(uint i) { return texelFetch(scales, int(i)).x; }

#if ZERO_POINT == PACKED
layout(binding = SCALE_BINDING + 1) uniform usamplerBuffer zero_points;
uint fetch_zero_point_byte(uint i) { return texelFetch(zero_points, int(i)).x; }
#elif ZERO_POINT == FLOAT
layout(binding = SCALE_BINDING + 1) uniform samplerBuffer zero_points;
float fetch_zero_point(uint i) { return texelFetch(zero_points, int(i)).x; }
#endif

#else
// Storage buffers.
#if SCALE_BYTES == 2
#define FLOAT_OF(words, i) unpackHalf2x16(words[i / 2] >> (i % 2 << 4)).x
#else
#define FLOAT_OF(words, i) words[i]
#endif
layout(binding = B_BINDING, std430) readonly buffer OperandB { WORD_VECTOR b[]; };
layout(binding = SCALE_BINDING, std430) readonly buffer Scales { SCALE_WORD scales[]; };

WORD_VECTOR fetch_words(uint vector_index) { return b[vector_index]; }
float fetch_scale(uint i) { return FLOAT_OF(scales, i); }

#if ZERO_POINT == PACKED
layout(binding = SCALE_BINDING + 1, std430) readonly buffer ZeroPoints { uint zero_points[]; };
uint fetch_zero_point_byte(uint i) { return bitfieldExtract(zero_points[i / 4], int(i % 4 * 8), 8); }
#elif ZERO_POINT == FLOAT
layout(binding = SCALE_BINDING + 1, std430) readonly buffer ZeroPoints { SCALE_WORD zero_points[]; };
float fetch_zero_point(uint i) { return FLOAT_OF(zero_points, i); }
#endif
#endif

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
#if ZERO_POINT == FLOAT
  return uintBitsToFloat(bits) - base - zero;
#else
  return uintBitsToFloat(bits) - (base + zero);
#endif
}

#if MULTIPLIES_INT8
// Four integers as signed bytes: those of a word of 8 bits minus INTEGER_OFFSET, or of the lower (0)
// or upper half (1) of a word of 4 bits, spread.
#if QUANT_BITS == 8
const int INTEGER_OFFSET = 128;
int four_integers(uint word, uint upper) { return int(word ^ 0x80808080u); }
#else
const int INTEGER_OFFSET = 0;
int four_integers(uint word, uint upper) {
  const uint two_bytes = word >> upper * 16 & 0xffffu,
             spread = (two_bytes | two_bytes << 8) & 0x00ff00ffu;
  return int((spread | spread << 4) & 0x0f0f0f0fu);
}
#endif
#endif

// Address of the first zero point of a row of B, and the zero point of one of its blocks.
#if ZERO_POINT == MIDDLE
uint zero_point_row(uint row, uint blocks) {
  return row * blocks;
}
float zero_point_at(uint first, uint block) {
  return float(1 << (QUANT_BITS - 1));
}

#elif ZERO_POINT == PACKED
uint zero_point_row(uint row, uint blocks) {
  return row * ((blocks * QUANT_BITS + 7) / 8);
}
float zero_point_at(uint first, uint block) {
  const uint bit = block * QUANT_BITS, byte = fetch_zero_point_byte(first + bit / 8);
  return float(QUANT_BITS == 8 ? byte : bitfieldExtract(byte, int(bit % 8), QUANT_BITS));
}

#else
uint zero_point_row(uint row, uint blocks) {
  return row * blocks;
}
float zero_point_at(uint first, uint block) {
  return fetch_zero_point(first + block);
}
#endif
float zero_point_of(uint row, uint block, uint blocks) {
  return zero_point_at(zero_point_row(row, blocks), block);
}
