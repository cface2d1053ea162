// C in 32 bits for WebGPU, where one binding has one type: vectors, of which elements are
// components. RESULT is the type of an element. Indices count elements.
#ifndef C_BINDING
#define C_BINDING 2
#endif
#ifndef RESULT_C
#define RESULT_C vec4
#endif
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
