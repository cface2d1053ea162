// A in a storage buffer of vectors.
#ifndef STORED_A
#define STORED_A VECTOR_A
#endif
layout(binding = 0, std430) readonly buffer OperandA { STORED_A a[]; };
VECTOR_A fetch_a(uint vector_index) { return VECTOR_A(a[vector_index]); }
