// A as a storage buffer of vectors.
layout(binding = 0, std430) readonly buffer OperandA { VECTOR_A a[]; };
VECTOR_A fetch_a(uint vector_index) { return a[vector_index]; }
