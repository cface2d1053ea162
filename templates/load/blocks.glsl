//: B in the blocks of a GGUF file (core/block_format.h): n rows of whole blocks along k. A group is
//: 16 elements from a multiple of 16 on. Its values become 16 bytes; byte x stands for
//: value_minus_zero_point(x) * scale - minimum.
//: Depends on BLOCK_FORMAT, LOAD_PATH_B, WORD_VECTOR_WIDTH (words in a load), GROUPS_TOGETHER, and
//: BLOCKS_AHEAD: the words of a trip are loaded before the trip in front of it is multiplied.

// Groups that an invocation reads together, from a multiple of this number on; fragments have more.
#if !defined(GROUPS_TOGETHER)
#define GROUPS_TOGETHER 1
#endif

// fetch_words counts vectors of words.
#if LOAD_PATH_B == TEXEL
layout(binding = B_BINDING) uniform usamplerBuffer b;
WORD_VECTOR fetch_words(uint vector_index) { return WORD_VECTOR(texelFetch(b, int(vector_index))); }
#else
layout(binding = B_BINDING, std430) readonly buffer OperandB { WORD_VECTOR b[]; };
WORD_VECTOR fetch_words(uint vector_index) { return b[vector_index]; }
#endif
#if BLOCKS_AHEAD
// The fragment of B says for each load whether it is of memory.
WORD_VECTOR words_ahead(uint vector_index);
#define fetch_words words_ahead
#endif

// What a format is: its sizes; and of group `group` = first + g of a block, the byte LOW_BYTE at
// which the lower bits of its values begin, the HALF of these bytes that they lie in, unless they
// take whole bytes, and the UPPER_BITS of its values, if they lie apart, out of a word of bytes
// that hold them.
#define Q4_0 1
#define Q5_0 2
#define Q8_0 3
#define Q4_K 4
#define Q5_K 5
#define Q6_K 6
#define MXFP4 7
#if BLOCK_FORMAT == Q4_0
const uint BLOCK = 32, BLOCK_BYTES = 18, ZERO_POINT = 8;
#define LOW_BYTE 2
#define HALF group_modulo(first, g, 2)
#elif BLOCK_FORMAT == Q5_0
const uint BLOCK = 32, BLOCK_BYTES = 22, ZERO_POINT = 16;
#define LOW_BYTE 6
#define HALF group_modulo(first, g, 2)
#define UPPER_BITS bits_to_bytes(high >> w * 4)
#elif BLOCK_FORMAT == Q8_0
const uint BLOCK = 32, BLOCK_BYTES = 34, ZERO_POINT = 128;
#define LOW_BYTE 2 + group * 16
#elif BLOCK_FORMAT == Q4_K
const uint BLOCK = 256, BLOCK_BYTES = 144, ZERO_POINT = 0;
#define LOW_BYTE 16 + group / 4 * 32 + group_modulo(first, g, 2) * 16
#define HALF group_modulo(first, g, 4) / 2
#elif BLOCK_FORMAT == Q5_K
const uint BLOCK = 256, BLOCK_BYTES = 176, ZERO_POINT = 0;
#define LOW_BYTE 48 + group / 4 * 32 + group_modulo(first, g, 2) * 16
#define HALF group_modulo(first, g, 4) / 2
#define UPPER_BITS (high >> (first + g) / 2 & 0x01010101u)
#elif BLOCK_FORMAT == Q6_K
const uint BLOCK = 256, BLOCK_BYTES = 210, ZERO_POINT = 32;
#define LOW_BYTE group / 8 * 64 + group_modulo(first, g, 4) * 16
#define HALF group_modulo(first, g, 8) / 4
#define UPPER_BITS (high >> group_modulo(first, g, 8) / 2 * 2 & 0x03030303u)
#elif BLOCK_FORMAT == MXFP4  // in halves
const uint BLOCK = 32, BLOCK_BYTES = 17, ZERO_POINT = 12;
#define LOW_BYTE 1
#define HALF group_modulo(first, g, 2)
#endif
#define HAS_MINIMUM (BLOCK_FORMAT == Q4_K || BLOCK_FORMAT == Q5_K)
#define HAS_HIGH_BYTES (BLOCK_FORMAT == Q5_K || BLOCK_FORMAT == Q6_K)
const uint GROUPS_PER_SCALE = BLOCK_FORMAT == Q6_K ? 1 : 2;
const uint GROUPS = BLOCK / 16;
// A trip that takes the lower and the upper halves of the same bytes keeps the bytes as they are.
#define HALF_BYTES (BLOCK_FORMAT == Q4_0 ? GROUPS_TOGETHER % 2 == 0 : BLOCK_FORMAT == Q4_K && GROUPS_TOGETHER % 4 == 0)

#include "load/block_words.glsl"

// Group `first + g` of a block, modulo a divisor of its number. first is a multiple of
// GROUPS_TOGETHER, so that compilers see a constant where g is one.
uint group_modulo(uint first, uint g, uint divisor) {
  return GROUPS_TOGETHER % divisor == 0 ? g % divisor : (first + g) % divisor;
}

// The byte of a block at which the lower bits of a group begin.
uint low_byte(uint first, uint g) {
  const uint group = first + g;
  return LOW_BYTE;
}
// The same for the upper bits, where HAS_HIGH_BYTES.
uint high_byte(uint first, uint g) {
#if BLOCK_FORMAT == Q5_K
  return 16 + group_modulo(first, g, 2) * 16;
#else  // Q6_K
  return HIGH_Q6_K + (first + g) / 8 * 32 + group_modulo(first, g, 2) * 16;
#endif
}

// Bit i of the lowest four becomes byte i.
uint bits_to_bytes(uint bits) { return (bits & 0xfu) * 0x204081u & 0x01010101u; }

// E2M1 with a sign in the lower half of each byte becomes twice its value, plus 12.
uint e2m1_to_integers(uint x) {
  const uint low = x & 0x03030303u;
  const uint large = (x >> 2 & 0x01010101u) * 255;  // 2, 3, 4 and 6 lie above the even steps
  const uint twice = low + (large & (0x04040404u + low + (low & low >> 1) * 2));
  return 0x0c0c0c0cu + twice - (twice << 1 & (x >> 3 & 0x01010101u) * 255);
}

// Word w of a group's bytes, from the words that its bits lie in.
uint group_word(uint low, uint high, uint first, uint g, uint w) {
#if BLOCK_FORMAT == Q8_0
  return low ^ 0x80808080u;
#elif BLOCK_FORMAT == MXFP4
  return e2m1_to_integers(low >> HALF * 4 & 0x0f0f0f0fu);
#elif defined(UPPER_BITS)
  return low >> HALF * 4 & 0x0f0f0f0fu | UPPER_BITS << 4;
#else
  return low >> HALF * 4 & 0x0f0f0f0fu;
#endif
}

// The block begins at byte `base + offset`.
uvec4 group_values(uint base, uint offset, uint first, uint g) {
  const uvec4 low = sixteen_bytes(base, offset + low_byte(first, g));
#if HALF_BYTES
  return low;
#else
#if HAS_HIGH_BYTES
  const uvec4 high = sixteen_bytes(base, offset + high_byte(first, g));
#elif BLOCK_FORMAT == Q5_0
  const uvec4 high = uvec4(four_bytes(base, offset + 2) >> group_modulo(first, g, 2) * 16);
#else
  const uvec4 high = uvec4(0);
#endif
  return uvec4(group_word(low.x, high.x, first, g, 0), group_word(low.y, high.y, first, g, 1),
               group_word(low.z, high.z, first, g, 2), group_word(low.w, high.w, first, g, 3));
#endif
}
// Only word w of them.
uint group_values_word(uint base, uint offset, uint group, uint w) {
  const uint low = four_bytes(base, offset + low_byte(0, group) + w * 4);
#if HAS_HIGH_BYTES
  const uint high = four_bytes(base, offset + high_byte(0, group) + w * 4);
#elif BLOCK_FORMAT == Q5_0
  const uint high = four_bytes(base, offset + 2) >> group % 2 * 16;
#else
  const uint high = 0;
#endif
  return group_word(low, high, 0, group, w);
}

// Scale and minimum of group `first + g` of a block.
vec2 group_scale(uint base, uint offset, uint first, uint g) {
  const uint group = first + g;
#if HAS_MINIMUM
  // A part of two groups has a scale and a minimum of six bits, of which the last four parts lend
  // their upper two bits to the first four. The condition is the same for groups that are read
  // together.
  const bool first_four = first / 8 + g / 8 == 0;
  const uvec4 head = sixteen_bytes(base, offset);
  const uint scales = first_four ? head.y & 0x3f3f3f3fu
                                 : head.w & 0x0f0f0f0fu | head.y >> 2 & 0x30303030u;
  const uint minimums = first_four ? head.z & 0x3f3f3f3fu
                                   : head.w >> 4 & 0x0f0f0f0fu | head.z >> 2 & 0x30303030u;
  const uint shift = group / 2 % 4 * 8;
  return unpackHalf2x16(head.x) * vec2(scales >> shift & 0x3fu, minimums >> shift & 0x3fu);
#elif BLOCK_FORMAT == Q6_K
  const int scale = int(byte_at(base, offset + SCALES_Q6_K + group) << 24) >> 24;
  return vec2(half_at(base, offset + SCALE_Q6_K) * float(scale), 0);
#elif BLOCK_FORMAT == MXFP4
  const uint exponent = byte_at(base, offset);
  const uint bits = exponent == 0 ? 0x00400000u : exponent == 255 ? 0x7fc00000u : exponent << 23;
  return vec2(uintBitsToFloat(bits), 0);
#else
  return vec2(half_at(base, offset), 0);
#endif
}

// The value of 4 or 8 bits from `bit` on, with some bits flipped, minus the zero point, without an
// integer conversion: a float with the exponent of 2^(23 - b) and with the value from bit b of the
// mantissa on is the number 2^(23 - b) + value, from which the subtraction is exact. A value whose
// bits lie beyond the mantissa is shifted first, several values by the same shift.
#if !BLOCKS_AHEAD
float bits_minus_zero_point(uint word, uint bit, uint bits, uint flipped) {
  const uint shift = bit + bits <= 20 ? 0 : (bits == 4 ? 12 : 16), b = bit - shift;
  const uint exponent = (150 - b - (BLOCK_FORMAT == MXFP4 ? 1 : 0)) << 23;
  const uint x = word >> shift & ((1u << bits) - 1u) << b ^ (exponent | flipped << b);
  return uintBitsToFloat(x) -
         (uintBitsToFloat(exponent) + float(ZERO_POINT) * (BLOCK_FORMAT == MXFP4 ? 0.5 : 1.0));
}
#else
// The exponents are in registers: NVIDIA's LOP3 has one constant of 32 bits, so that mask and
// exponent take two of them where compilers know both. A zero that they do not know hides the
// exponents.
uint exponents[5];  // for each bit of the mantissa at which values begin, 0 to 16

void hold_exponents() {
  const uint hidden_zero = n == 0 ? 1 : 0;
  [[unroll]] for (uint b = 0; b < 20; b += 4)
    exponents[b / 4] = (150 - b - (BLOCK_FORMAT == MXFP4 ? 1 : 0)) << 23 | hidden_zero;
}

float bits_minus_zero_point(uint word, uint bit, uint bits, uint flipped) {
  const uint shift = bit + bits <= 20 ? 0 : (bits == 4 ? 12 : 16), b = bit - shift;
  const float exponent = uintBitsToFloat((150 - b - (BLOCK_FORMAT == MXFP4 ? 1 : 0)) << 23);
  const uint x = word >> shift & ((1u << bits) - 1u) << b ^ (exponents[b / 4] | flipped << b);
  return uintBitsToFloat(x) - (exponent + float(ZERO_POINT) * (BLOCK_FORMAT == MXFP4 ? 0.5 : 1.0));
}
#endif

// Byte i of a word minus the zero point.
float value_minus_zero_point(uint word, uint i) { return bits_minus_zero_point(word, i * 8, 8, 0); }
