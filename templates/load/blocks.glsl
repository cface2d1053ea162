// B in the blocks of a GGUF file (core/block_format.h): n rows of whole blocks along k. A group is
// 16 elements from a multiple of 16 on. Its values become 16 bytes; byte x stands for
// value_minus_zero_point(x) * scale - minimum.
#ifndef BLOCK_FORMAT
#define BLOCK_FORMAT 1
#endif
#ifndef B_BINDING
#define B_BINDING 1
#endif
#ifndef WORD_VECTOR
#define WORD_VECTOR uint
#define WORD_VECTOR_WIDTH 1
#endif
// Groups that an invocation reads together, from a multiple of this number on.
#ifndef GROUPS_TOGETHER
#define GROUPS_TOGETHER 1
#endif

#include "load/blocks_texel.glsl"

#if BLOCK_FORMAT == 1    // q4_0
const uint BLOCK = 32, BLOCK_BYTES = 18, ZERO_POINT = 8;
#elif BLOCK_FORMAT == 2  // q5_0
const uint BLOCK = 32, BLOCK_BYTES = 22, ZERO_POINT = 16;
#elif BLOCK_FORMAT == 3  // q8_0
const uint BLOCK = 32, BLOCK_BYTES = 34, ZERO_POINT = 128;
#elif BLOCK_FORMAT == 4  // q4_k
const uint BLOCK = 256, BLOCK_BYTES = 144, ZERO_POINT = 0;
#elif BLOCK_FORMAT == 5  // q5_k
const uint BLOCK = 256, BLOCK_BYTES = 176, ZERO_POINT = 0;
#elif BLOCK_FORMAT == 6  // q6_k
const uint BLOCK = 256, BLOCK_BYTES = 210, ZERO_POINT = 32;
#else                    // mxfp4, in halves
const uint BLOCK = 32, BLOCK_BYTES = 17, ZERO_POINT = 12;
#endif
#define HAS_MINIMUM (BLOCK_FORMAT == 4 || BLOCK_FORMAT == 5)
const uint GROUPS_PER_SCALE = BLOCK_FORMAT == 6 ? 1 : 2;
const uint GROUPS = BLOCK / 16;
// A trip that takes the lower and the upper halves of the same bytes keeps the bytes as they are.
#define HALF_BYTES                                  \
  (BLOCK_FORMAT == 1 && GROUPS_TOGETHER % 2 == 0 || \
   BLOCK_FORMAT == 4 && GROUPS_TOGETHER % 4 == 0)

uint upper_and_lower(uint upper, uint lower, uint shift) {
  return lower >> shift | upper << 1 << (31 - shift);
}

// Vectors of blocks that are no whole vectors are read by windows: the fewest blocks that are whole
// words, or half a block of Q6_K, whose parts have half of a block's length.
#define WINDOWS (WORD_VECTOR_WIDTH == 4 && BLOCK_FORMAT != 4 && BLOCK_FORMAT != 5)
const uint HIGH_Q6_K = WINDOWS ? 64 : 128, SCALES_Q6_K = WINDOWS ? 96 : 192,
           SCALE_Q6_K = WINDOWS ? 104 : 208;  // bytes at which its parts begin
#if WINDOWS
#include "load/block_window.glsl"
#endif

// Words from byte `base + offset` on. Where loads are vectors, base is a multiple of 16, so that
// compilers take constant words of them for a constant offset; in a window it is 0. A word beyond
// the last byte that is asked for is never read.
uint one_word(uint x, uint i) { return x; }
uint one_word(uvec4 x, uint i) { return x[i]; }
uint word(uint base, uint offset) {
#if WINDOWS
  return window[offset / 4];
#elif WORD_VECTOR_WIDTH == 4
  return one_word(fetch_words(base / 16 + offset / 16), offset % 16 / 4);
#else
  return one_word(fetch_words((base + offset) / 4), 0);
#endif
}
uint shift_of(uint base, uint offset) {
  if (BLOCK_BYTES % 4 == 0) return 0;
  return (WORD_VECTOR_WIDTH == 4 ? offset % 4 : (base + offset) % 4) * 8;
}
uint four_bytes(uint base, uint offset) {
  return upper_and_lower(word(base, offset + 3), word(base, offset), shift_of(base, offset));
}
uvec4 sixteen_bytes(uint base, uint offset) {
#if WORD_VECTOR_WIDTH == 4 && !WINDOWS
  return fetch_words(base / 16 + offset / 16);  // blocks and their parts begin at multiples of 16
#else
  const uint shift = shift_of(base, offset);
  const uvec4 words = uvec4(word(base, offset), word(base, offset + 4), word(base, offset + 8),
                            word(base, offset + 12));
  if (BLOCK_BYTES % 4 == 0) return words;
  return uvec4(upper_and_lower(words.y, words.x, shift), upper_and_lower(words.z, words.y, shift),
               upper_and_lower(words.w, words.z, shift),
               upper_and_lower(word(base, offset + 15), words.w, shift));
#endif
}
// From an even byte on.
float half_at(uint base, uint offset) {
  return unpackHalf2x16(word(base, offset) >> shift_of(base, offset)).x;
}
uint byte_at(uint base, uint offset) {
  return word(base, offset) >> (WORD_VECTOR_WIDTH == 4 ? offset % 4 : (base + offset) % 4) * 8 & 0xffu;
}

// Group `first + g` of a block, modulo a divisor of its number. first is a multiple of
// GROUPS_TOGETHER, so that compilers see a constant where g is one.
uint group_modulo(uint first, uint g, uint divisor) {
  return GROUPS_TOGETHER % divisor == 0 ? g % divisor : (first + g) % divisor;
}

// The byte of a block at which the lower bits of a group begin.
uint low_byte(uint first, uint g) {
  const uint group = first + g;
#if BLOCK_FORMAT == 1
  return 2;
#elif BLOCK_FORMAT == 2
  return 6;
#elif BLOCK_FORMAT == 3
  return 2 + group * 16;
#elif BLOCK_FORMAT == 4
  return 16 + group / 4 * 32 + group_modulo(first, g, 2) * 16;
#elif BLOCK_FORMAT == 5
  return 48 + group / 4 * 32 + group_modulo(first, g, 2) * 16;
#elif BLOCK_FORMAT == 6
  return group / 8 * 64 + group_modulo(first, g, 4) * 16;
#else
  return 1;
#endif
}
// The same for the upper bits, where they lie apart.
uint high_byte(uint first, uint g) {
#if BLOCK_FORMAT == 5
  return 16 + group_modulo(first, g, 2) * 16;
#else  // q6_k
  return HIGH_Q6_K + (first + g) / 8 * 32 + group_modulo(first, g, 2) * 16;
#endif
}
#define HAS_HIGH_BYTES (BLOCK_FORMAT == 5 || BLOCK_FORMAT == 6)

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
#if BLOCK_FORMAT == 1
  return low >> group_modulo(first, g, 2) * 4 & 0x0f0f0f0fu;
#elif BLOCK_FORMAT == 2
  return low >> group_modulo(first, g, 2) * 4 & 0x0f0f0f0fu | bits_to_bytes(high >> w * 4) << 4;
#elif BLOCK_FORMAT == 3
  return low ^ 0x80808080u;
#elif BLOCK_FORMAT == 4
  return low >> group_modulo(first, g, 4) / 2 * 4 & 0x0f0f0f0fu;
#elif BLOCK_FORMAT == 5
  return low >> group_modulo(first, g, 4) / 2 * 4 & 0x0f0f0f0fu |
         (high >> (first + g) / 2 & 0x01010101u) << 4;
#elif BLOCK_FORMAT == 6
  return low >> group_modulo(first, g, 8) / 4 * 4 & 0x0f0f0f0fu |
         (high >> group_modulo(first, g, 8) / 2 * 2 & 0x03030303u) << 4;
#else
  return e2m1_to_integers(low >> group_modulo(first, g, 2) * 4 & 0x0f0f0f0fu);
#endif
}

// The block begins at byte `base + offset`.
uvec4 group_values(uint base, uint offset, uint first, uint g) {
  const uvec4 low = sixteen_bytes(base, offset + low_byte(first, g));
#if HALF_BYTES
  return low;
#endif
#if HAS_HIGH_BYTES
  const uvec4 high = sixteen_bytes(base, offset + high_byte(first, g));
#elif BLOCK_FORMAT == 2
  const uvec4 high = uvec4(four_bytes(base, offset + 2) >> group_modulo(first, g, 2) * 16);
#else
  const uvec4 high = uvec4(0);
#endif
  return uvec4(group_word(low.x, high.x, first, g, 0), group_word(low.y, high.y, first, g, 1),
               group_word(low.z, high.z, first, g, 2), group_word(low.w, high.w, first, g, 3));
}
// Only word w of them.
uint group_values_word(uint base, uint offset, uint group, uint w) {
  const uint low = four_bytes(base, offset + low_byte(0, group) + w * 4);
#if HAS_HIGH_BYTES
  const uint high = four_bytes(base, offset + high_byte(0, group) + w * 4);
#elif BLOCK_FORMAT == 2
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
#elif BLOCK_FORMAT == 6
  const int scale = int(byte_at(base, offset + SCALES_Q6_K + group) << 24) >> 24;
  return vec2(half_at(base, offset + SCALE_Q6_K) * float(scale), 0);
#elif BLOCK_FORMAT == 7
  const uint exponent = byte_at(base, offset);
  const uint bits = exponent == 0 ? 0x00400000u : exponent == 255 ? 0x7fc00000u : exponent << 23;
  return vec2(uintBitsToFloat(bits), 0);
#else
  return vec2(half_at(base, offset), 0);
#endif
}

#include "load/block_bits.glsl"

// Byte i of a word minus the zero point.
float value_minus_zero_point(uint word, uint i) { return bits_minus_zero_point(word, i * 8, 8, 0); }
