layout(binding = 0, std430) readonly buffer OperandA { VECTOR_A a[]; };
