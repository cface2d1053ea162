// B in a storage buffer of vectors.
#ifndef STORED_B
#define STORED_B VECTOR_B
#endif
layout(binding = 1, std430) readonly buffer OperandB { STORED_B b[]; };
VECTOR_B fetch_b(uint vector_index) { return VECTOR_B(b[vector_index]); }
