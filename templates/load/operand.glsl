//: An operand in memory that is not quantised: load/quantized.glsl and load/blocks.glsl read a
//: quantised B. fetch_$a() returns one vector, converted to the type in registers; addresses count
//: vectors. Nothing here knows how a kernel divides its work. Depends on READ_$A (the type in
//: memory), LOAD_PATH_$A and VECTOR_WIDTH_$A.

#if LOAD_PATH_$A == BUFFER && (READ_$A == F32 || READ_$A == I32 || READ_$A == F64)
// A storage buffer of vectors.
layout(binding = $0, std430) readonly buffer Operand$A { STORED_$A $a[]; };
VECTOR_$A fetch_$a(uint vector_index) { return VECTOR_$A($a[vector_index]); }

#elif LOAD_PATH_$A == BUFFER && (READ_$A == F16 || READ_$A == BF16) && VECTOR_WIDTH_$A == 4
// A storage buffer of 16-bit elements: a vector is one load of 64 bits.
layout(binding = $0, std430) readonly buffer Operand$A { uvec2 $a_words[]; };
VECTOR_$A fetch_$a(uint vector_index) {
  const uvec2 words = $a_words[vector_index];
  return VECTOR_$A(widen(words.x), widen(words.y));
}

#elif LOAD_PATH_$A == BUFFER && (READ_$A == F16 || READ_$A == BF16)
// A storage buffer of 16-bit elements: a vector is a word or one half of it.
layout(binding = $0, std430) readonly buffer Operand$A { uint $a_words[]; };
VECTOR_$A fetch_$a(uint vector_index) {
#if VECTOR_WIDTH_$A == 2
  return VECTOR_$A(widen($a_words[vector_index]));
#else
  return VECTOR_$A(widen($a_words[vector_index / 2])[vector_index % 2]);
#endif
}

#elif LOAD_PATH_$A == BUFFER && (READ_$A == I8 || READ_$A == U8)
// A storage buffer of 8-bit integers: a vector is a word or a part of it.
layout(binding = $0, std430) readonly buffer Operand$A { BYTE_WORD $a_words[]; };
VECTOR_$A fetch_$a(uint vector_index) {
  const BYTE_WORD word = $a_words[vector_index * VECTOR_WIDTH_$A / 4];
#if VECTOR_WIDTH_$A == 4
  return ivec4(bitfieldExtract(word, 0, 8), bitfieldExtract(word, 8, 8), bitfieldExtract(word, 16, 8),
               word >> 24);
#else
  const int first = int(vector_index * VECTOR_WIDTH_$A % 4 * 8);
#if VECTOR_WIDTH_$A == 2
  return ivec2(bitfieldExtract(word, first, 8), bitfieldExtract(word, first + 8, 8));
#else
  return int(bitfieldExtract(word, first, 8));
#endif
#endif
}

#elif LOAD_PATH_$A == TEXEL && READ_$A == BF16
// A uniform texel buffer of bfloat16; a texel is one vector, R16_UINT or RGBA16_UINT, whose bits
// become the upper halves of float32.
layout(binding = $0) uniform usamplerBuffer $a;
VECTOR_$A fetch_$a(uint vector_index) {
  return VECTOR_$A(uintBitsToFloat(texelFetch($a, int(vector_index)) << 16));
}

#elif LOAD_PATH_$A == TEXEL && READ_$A == F64
// A uniform texel buffer of RGBA32_UINT: a texel has the bits of two float64, and a vector is two
// texels.
layout(binding = $0) uniform usamplerBuffer $a;
dvec2 two_of_$a(uint texel) {
  const uvec4 words = texelFetch($a, int(texel));
  return dvec2(packDouble2x32(words.xy), packDouble2x32(words.zw));
}
VECTOR_$A fetch_$a(uint vector_index) {
  return VECTOR_$A(two_of_$a(2 * vector_index), two_of_$a(2 * vector_index + 1));
}

#elif LOAD_PATH_$A == TEXEL
// A uniform texel buffer; a texel is one vector, of one or four channels. The device converts
// float16.
#if READ_$A == U8
layout(binding = $0) uniform usamplerBuffer $a;
#elif READ_$A == I8 || READ_$A == I32
layout(binding = $0) uniform isamplerBuffer $a;
#else
layout(binding = $0) uniform samplerBuffer $a;
#endif
VECTOR_$A fetch_$a(uint vector_index) { return VECTOR_$A(texelFetch($a, int(vector_index))); }
#else
#error operand $A cannot be read in this type
#endif
