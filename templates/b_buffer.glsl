// B as a storage buffer of vectors.
layout(binding = 1, std430) readonly buffer OperandB { VECTOR_B b[]; };
VECTOR_B fetch_b(uint vector_index) { return b[vector_index]; }
