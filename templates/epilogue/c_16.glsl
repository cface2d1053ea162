// C in 16-bit floats, read and written as 32-bit words so that the device needs no 16-bit storage.
// Indices count elements. Two invocations may own the halves of one word, so a single element is
// stored with atomic operations that change only its half.
#ifndef C_BINDING
#define C_BINDING 2
#endif
#ifndef RESULT_C
#define RESULT_C vec4
#endif
#define RESULT float
#include "epilogue/narrow_f16.glsl"

layout(binding = C_BINDING, std430) buffer OperandC { uint c_words[]; };

float load_c(uint i) { return widen_c(atomicOr(c_words[i / 2], 0u))[i % 2]; }
void store_c(uint i, float x) {
  const uint shift = i % 2 * 16;
  atomicAnd(c_words[i / 2], 0xffff0000u >> shift);
  atomicOr(c_words[i / 2], narrow_c(vec2(x, 0)) << shift);
}

#if VECTOR_WIDTH_C == 4
vec4 load_c_vector(uint i) { return vec4(widen_c(c_words[i / 2]), widen_c(c_words[i / 2 + 1])); }
void store_c_vector(uint i, vec4 x) {
  c_words[i / 2] = narrow_c(x.xy);
  c_words[i / 2 + 1] = narrow_c(x.zw);
}
#elif VECTOR_WIDTH_C == 2
vec2 load_c_vector(uint i) { return widen_c(c_words[i / 2]); }
void store_c_vector(uint i, vec2 x) { c_words[i / 2] = narrow_c(x); }
#else
float load_c_vector(uint i) { return load_c(i); }
void store_c_vector(uint i, float x) { store_c(i, x); }
#endif
