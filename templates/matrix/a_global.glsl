// A in a storage buffer of vectors of 32-bit words.
layout(binding = 0, std430) readonly buffer OperandA { VECTOR_A a[]; };
