// C in float32, as elements and as vectors. Indices count elements.
#ifndef C_BINDING
#define C_BINDING 2
#endif
#ifndef RESULT_C
#define RESULT_C vec4
#endif
#define RESULT float
layout(binding = C_BINDING, std430) buffer OperandC { float c[]; };
layout(binding = C_BINDING, std430) buffer OperandCVectors { RESULT_C c_vectors[]; };
float load_c(uint i) { return c[i]; }
void store_c(uint i, float x) { c[i] = x; }
RESULT_C load_c_vector(uint i) { return c_vectors[i / VECTOR_WIDTH_C]; }
void store_c_vector(uint i, RESULT_C x) { c_vectors[i / VECTOR_WIDTH_C] = x; }
