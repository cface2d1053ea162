//: C as elements of type RESULT and as vectors of VECTOR_WIDTH_C of them, RESULT_C. Indices count
//: elements. A kernel may define another binding.
#if !defined(C_BINDING)
#define C_BINDING 2
#endif
#if REDUCTION == ATOMIC
// The one buffer, cleared before, to which the kernels of a split-K GEMM add their partial sums
// atomically. What it holds is not read: beta is applied by reduce.comp.
#extension GL_EXT_shader_atomic_float : enable
layout(binding = C_BINDING, std430) buffer OperandC { RESULT c[]; };
RESULT load_c(uint i) { return RESULT(0); }
void store_c(uint i, RESULT x) { atomicAdd(c[i], x); }
RESULT_C load_c_vector(uint i) { return RESULT_C(0); }
void store_c_vector(uint i, RESULT_C x) {
#if VECTOR_WIDTH_C == 1
  store_c(i, x);
#else
  [[unroll]] for (uint w = 0; w < VECTOR_WIDTH_C; ++w) store_c(i + w, x[w]);
#endif
}
#elif TYPE_C == F16 || TYPE_C == BF16
// In 16-bit floats, read and written as 32-bit words so that the device needs no 16-bit storage.
// Two invocations may own the halves of one word, so a single element is stored with atomic
// operations that change only its half.
#include "epilogue/narrow.glsl"

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
#elif WEB
// For WebGPU, where one binding has one type: vectors, of which elements are components.
layout(binding = C_BINDING, std430) buffer OperandC { RESULT_C c[]; };
RESULT_C load_c_vector(uint i) { return c[i / VECTOR_WIDTH_C]; }
void store_c_vector(uint i, RESULT_C x) { c[i / VECTOR_WIDTH_C] = x; }
#if VECTOR_WIDTH_C == 1
RESULT load_c(uint i) { return c[i]; }
void store_c(uint i, RESULT x) { c[i] = x; }
#else
RESULT load_c(uint i) { return c[i / VECTOR_WIDTH_C][i % VECTOR_WIDTH_C]; }
void store_c(uint i, RESULT x) { c[i / VECTOR_WIDTH_C][i % VECTOR_WIDTH_C] = x; }
#endif
#else
layout(binding = C_BINDING, std430) buffer OperandC { RESULT c[]; };
layout(binding = C_BINDING, std430) buffer OperandCVectors { RESULT_C c_vectors[]; };
RESULT load_c(uint i) { return c[i]; }
void store_c(uint i, RESULT x) { c[i] = x; }
RESULT_C load_c_vector(uint i) { return c_vectors[i / VECTOR_WIDTH_C]; }
void store_c_vector(uint i, RESULT_C x) { c_vectors[i / VECTOR_WIDTH_C] = x; }
#endif
