// B in a storage buffer of vectors of 32-bit words.
layout(binding = 1, std430) readonly buffer OperandB { VECTOR_B b[]; };
