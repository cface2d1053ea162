// C in float32 for WebGPU, where one binding has one type: vectors, of which elements are
// components. Indices count elements.
#ifndef C_BINDING
#define C_BINDING 2
#endif
#ifndef RESULT_C
#define RESULT_C vec4
#endif
#define RESULT float
layout(binding = C_BINDING, std430) buffer OperandC { RESULT_C c[]; };
RESULT_C load_c_vector(uint i) { return c[i / VECTOR_WIDTH_C]; }
void store_c_vector(uint i, RESULT_C x) { c[i / VECTOR_WIDTH_C] = x; }
#if VECTOR_WIDTH_C == 1
float load_c(uint i) { return c[i]; }
void store_c(uint i, float x) { c[i] = x; }
#else
float load_c(uint i) { return c[i / VECTOR_WIDTH_C][i % VECTOR_WIDTH_C]; }
void store_c(uint i, float x) { c[i / VECTOR_WIDTH_C][i % VECTOR_WIDTH_C] = x; }
#endif
