layout(binding = 1, std430) readonly buffer OperandB { VECTOR_B b[]; };
