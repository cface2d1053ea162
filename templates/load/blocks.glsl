//: B in the blocks of a GGUF file (core/block_layout.h): n rows of whole blocks along k. A group is
//: 16 elements from a multiple of 16 on. Its values become 16 bytes; byte x stands for
//: value_minus_zero_point(x) * scale - minimum.
//:
//: BLOCK_FORMAT          the format, which says what scales are
//: BLOCK, BLOCK_BYTES    elements and bytes of a block
//: GROUPS_PER_SCALE      groups that share a scale, and a minimum if HAS_MINIMUM
//: LOW_BITS, HIGH_BITS   how many lower and upper bits an element has; BLOCK_CODE: what they stand for;
//:                       ZERO_POINT: which byte stands for 0
//: LOW_FIRST, LOW_WIDTH  where they lie: LOW_WIDTH elements in bytes side by side, from byte LOW_FIRST
//:                       on, and the next ones in further bits of these; the same with HIGH
//: BLOCK_WINDOW          elements of a window (load/block_words.glsl); 0: there are none
//: BLOCKS_AHEAD          the words of a trip are loaded before the trip in front of it is multiplied
//: LOAD_PATH_B, WORD_VECTOR_WIDTH (words in a load), GROUPS_TOGETHER

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

const uint GROUPS = BLOCK / 16;
// A trip that takes the lower and the upper halves of the same bytes keeps the bytes as they are.
#define HALF_BYTES (LOW_BITS == 4 && HIGH_BITS == 0 && BLOCK_CODE == INTEGER && GROUPS_TOGETHER % (LOW_WIDTH / 8) == 0)

#include "load/block_words.glsl"

// Group `first + g` of a block, modulo a divisor of its number. first is a multiple of
// GROUPS_TOGETHER, so that compilers see a constant where g is one.
uint group_modulo(uint first, uint g, uint divisor) {
  return GROUPS_TOGETHER % divisor == 0 ? g % divisor : (first + g) % divisor;
}

// The byte and the bit at which a group begins, where elements have `bits` bits each and lie from
// byte `begin` on, `width` of them in bytes side by side. width / bits / 2 groups fill these bytes;
// if a block has no more groups, there are no further bytes to count. A width of 8 is less than a
// group, which has whole bytes then.
uint byte_of_group(uint begin, uint bits, uint width, uint first, uint g) {
  if (width < 16) return begin + (first + g) * bits * 2;
  const uint side_by_side = group_modulo(first, g, width / 16) * 16, groups = width / bits / 2;
  return begin + side_by_side + (GROUPS == groups ? 0 : (first + g) / groups * width);
}
uint shift_of_group(uint bits, uint width, uint first, uint g) {
  return width < 16 ? 0 : group_modulo(first, g, width / bits / 2) / (width / 16) * bits;
}
uint low_byte(uint first, uint g) {
  return byte_of_group(LOW_PLACE, LOW_BITS, LOW_WIDTH, first, g);
}

#if BLOCK_CODE == E2M1
// A sign, two bits of exponent and one of mantissa in the lower half of each byte become twice
// their value, plus 12.
uint integers_of(uint x) {
  const uint low = x & 0x03030303u;
  const uint large = (x >> 2 & 0x01010101u) * 255;  // 2, 3, 4 and 6 lie above the even steps
  const uint twice = low + (large & (0x04040404u + low + (low & low >> 1) * 2));
  return 0x0c0c0c0cu + twice - (twice << 1 & (x >> 3 & 0x01010101u) * 255);
}
#elif BLOCK_CODE == IQ4
// The bytes of `no` where those of the mask are 0, those of `yes` where they are 255.
uint either(uint mask, uint no, uint yes) { return no ^ (no ^ yes) & mask; }
// One of four numbers in each byte.
uint one_of(uint bit_0, uint bit_1, uvec4 numbers) {
  const uvec4 x = numbers * 0x01010101u;
  return either(bit_1, either(bit_0, x.x, x.y), either(bit_0, x.z, x.w));
}
// Four bits in the lower half of each byte become an entry of ggml's kvalues_iq4nl, plus 128.
uint integers_of(uint x) {
  uint bit[4];
  [[unroll]] for (uint i = 0; i < 4; ++i) bit[i] = (x >> i & 0x01010101u) * 255;
  const uint negative = either(bit[2], one_of(bit[0], bit[1], uvec4(1, 24, 45, 63)),
                               one_of(bit[0], bit[1], uvec4(79, 93, 106, 118)));
  const uint positive = either(bit[2], one_of(bit[0], bit[1], uvec4(129, 141, 153, 166)),
                               one_of(bit[0], bit[1], uvec4(181, 197, 217, 241)));
  return either(bit[3], negative, positive);
}
#elif BLOCK_CODE == INT8
uint integers_of(uint x) { return x ^ 0x80808080u; }
#else
uint integers_of(uint x) { return x; }
#endif

// Bit i of the lowest four becomes byte i.
uint bits_to_bytes(uint bits) { return (bits & 0xfu) * 0x204081u & 0x01010101u; }

// Word w of a group's bytes, from the words that its bits lie in. A group with a width of 8 lies in
// two words: their lower halves become words 0 and 1, their upper halves words 2 and 3.
uint group_word(uint low, uint high, uint first, uint g, uint w) {
  const uint shift =
      LOW_WIDTH == 8 ? w / 2 * LOW_BITS : shift_of_group(LOW_BITS, LOW_WIDTH, first, g);
  const uint lower = LOW_BITS == 8 ? low : low >> shift & ((1u << LOW_BITS) - 1) * 0x01010101u;
#if HIGH_BITS == 0
  return integers_of(lower);
#elif HIGH_WIDTH == 1
  return integers_of(lower | bits_to_bytes(high >> w * 4) << LOW_BITS);
#else
  const uint upper = high >> shift_of_group(HIGH_BITS, HIGH_WIDTH, first, g) + HIGH_SHIFT;
  return integers_of(lower | (upper & ((1u << HIGH_BITS) - 1) * 0x01010101u) << LOW_BITS);
#endif
}

// The block begins at byte `base + offset`.
uvec4 group_values(uint base, uint offset, uint first, uint g) {
  const uint begin = offset + low_byte(first, g);
#if LOW_WIDTH == 8
  const uvec4 low = uvec4(four_bytes(base, begin), four_bytes(base, begin + 4), 0, 0).xyxy;
#else
  const uvec4 low = sixteen_bytes(base, begin);
#endif
#if HALF_BYTES
  return low;
#else
#if HIGH_BITS == 0
  const uvec4 high = uvec4(0);
#elif HIGH_WIDTH == 1
  const uvec4 high = uvec4(four_bytes(base, offset + HIGH_FIRST) >> group_modulo(first, g, 2) * 16);
#else
  const uvec4 high =
      sixteen_bytes(base, offset + byte_of_group(HIGH_PLACE, HIGH_BITS, HIGH_WIDTH, first, g));
#endif
  return uvec4(group_word(low.x, high.x, first, g, 0), group_word(low.y, high.y, first, g, 1),
               group_word(low.z, high.z, first, g, 2), group_word(low.w, high.w, first, g, 3));
#endif
}
// Only word w of them.
uint group_values_word(uint base, uint offset, uint group, uint w) {
  const uint of_low = LOW_WIDTH == 8 ? w % 2 : w;
  const uint low = four_bytes(base, offset + low_byte(0, group) + of_low * 4);
#if HIGH_BITS == 0
  const uint high = 0;
#elif HIGH_WIDTH == 1
  const uint high = four_bytes(base, offset + HIGH_FIRST) >> group % 2 * 16;
#else
  const uint high = four_bytes(
      base, offset + byte_of_group(HIGH_PLACE, HIGH_BITS, HIGH_WIDTH, 0, group) + w * 4);
#endif
  return group_word(low, high, 0, group, w);
}

// Scale and minimum of group `first + g` of a block.
vec2 group_scale(uint base, uint offset, uint first, uint g) {
  const uint group = first + g;
#if BLOCK_FORMAT == Q4_K || BLOCK_FORMAT == Q5_K
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
#elif BLOCK_FORMAT == Q2_K
  const uint both = byte_at(base, offset + SCALES_PLACE + group);
  return unpackHalf2x16(word(base, offset + SCALE_PLACE)) * vec2(both & 0xfu, both >> 4);
#elif BLOCK_FORMAT == Q3_K
  // Six bits: the lower four of group i in half a byte i % 8, the upper two in a quarter of byte
  // i % 4 behind these.
  const uint half_block = HALF_OF_GROUP, i = group % 8;
  const uint low = four_bytes(base, offset + SCALES_PLACE + i / 4 * 4) >> half_block * 4;
  const uint high = four_bytes(base, offset + SCALES_PLACE + 8) >> half_block * 4 + i / 4 * 2;
  const uint scale = low >> i % 4 * 8 & 0xfu | (high >> i % 4 * 8 & 3) << 4;
  return vec2(half_at(base, offset + SCALE_PLACE) * (float(scale) - 32), 0);
#elif BLOCK_FORMAT == Q6_K
  const int scale = int(byte_at(base, offset + SCALES_PLACE + group) << 24) >> 24;
  return vec2(half_at(base, offset + SCALE_PLACE) * float(scale), 0);
#elif BLOCK_FORMAT == IQ4_XS
  // A part of two groups has six bits: the upper two behind the block's scale, the lower four in
  // the next word.
  const uint head = word(base, offset), part = HALF_OF_GROUP * 4 + group % 8 / 2;
  const uint scale = word(base, offset + 4) >> part * 4 & 0xfu | (head >> 16 + part * 2 & 3) << 4;
  return vec2(unpackHalf2x16(head).x * (float(scale) - 32), 0);
#elif BLOCK_FORMAT == MXFP4
  const uint exponent = byte_at(base, offset);
  const uint bits = exponent == 0 ? 0x00400000u : exponent == 255 ? 0x7fc00000u : exponent << 23;
  return vec2(uintBitsToFloat(bits), 0);
#elif BLOCK_FORMAT == NVFP4
  // Four bits of exponent and three of mantissa; NaN is 0, as in ggml.
  const uint x = byte_at(base, offset + group);
  const float scale = (x & 0x78u) == 0 ? float(x & 7) / 512
                                       : uintBitsToFloat(((x & 0x7fu) << 20) + (120 << 23));
  return vec2(x == 0x7f ? 0 : scale, 0);
#elif HAS_MINIMUM
  return unpackHalf2x16(word(base, offset)) * vec2(1, -1);
#else
  return vec2(half_at(base, offset), 0);
#endif
}

// 1: bytes are twice the values, so that a unit is half of 1.
#if BLOCK_CODE == E2M1
const uint HALVES = 1;
#else
const uint HALVES = 0;
#endif

// The value of 4 or 8 bits from `bit` on, with some bits flipped, minus the zero point, without an
// integer conversion: a float with the exponent of 2^(23 - b) and with the value from bit b of the
// mantissa on is the number 2^(23 - b) + value, from which the subtraction is exact. A value whose
// bits lie beyond the mantissa is shifted first, several values by the same shift.
#if !BLOCKS_AHEAD
float bits_minus_zero_point(uint word, uint bit, uint bits, uint flipped) {
  const uint shift = bit + bits <= 20 ? 0 : (bits == 4 ? 12 : 16), b = bit - shift;
  const uint exponent = (150 - b - HALVES) << 23;
  const uint x = word >> shift & ((1u << bits) - 1u) << b ^ (exponent | flipped << b);
  return uintBitsToFloat(x) -
         (uintBitsToFloat(exponent) + float(ZERO_POINT) * (HALVES == 1 ? 0.5 : 1.0));
}
#else
// The exponents are in registers: NVIDIA's LOP3 has one constant of 32 bits, so that mask and
// exponent take two of them where compilers know both. A zero that they do not know hides the
// exponents.
uint exponents[5];  // for each bit of the mantissa at which values begin, 0 to 16

void hold_exponents() {
  const uint hidden_zero = n == 0 ? 1 : 0;
  [[unroll]] for (uint b = 0; b < 20; b += 4)
    exponents[b / 4] = (150 - b - HALVES) << 23 | hidden_zero;
}

float bits_minus_zero_point(uint word, uint bit, uint bits, uint flipped) {
  const uint shift = bit + bits <= 20 ? 0 : (bits == 4 ? 12 : 16), b = bit - shift;
  const float exponent = uintBitsToFloat((150 - b - HALVES) << 23);
  const uint x = word >> shift & ((1u << bits) - 1u) << b ^ (exponents[b / 4] | flipped << b);
  return uintBitsToFloat(x) - (exponent + float(ZERO_POINT) * (HALVES == 1 ? 0.5 : 1.0));
}
#endif

#if MULTIPLIES_INT8
// Bytes above 127, whose zero point is 128, become signed when their sign is flipped.
#if BLOCK_CODE == INT8 || BLOCK_CODE == IQ4
const uint FLIPPED_SIGNS = 0x80808080u;
const int SIGNED_ZERO_POINT = 0;
#else
const uint FLIPPED_SIGNS = 0;
const int SIGNED_ZERO_POINT = ZERO_POINT;
#endif
#endif

// Byte i of a word minus the zero point.
float value_minus_zero_point(uint word, uint i) { return bits_minus_zero_point(word, i * 8, 8, 0); }
