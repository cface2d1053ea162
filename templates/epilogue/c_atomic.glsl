// The one buffer, cleared before, to which the kernels of a split-K GEMM add their partial sums
// atomically. What it holds is not read: beta is applied by reduce.comp.
#extension GL_EXT_shader_atomic_float : enable
#ifndef RESULT
#define RESULT float
#endif
#ifndef RESULT_C
#define RESULT_C vec4
#endif
layout(binding = 2, std430) buffer OperandC { RESULT c[]; };
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
