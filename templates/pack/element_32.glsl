// One float32 element of the stored operand.
layout(binding = 0, std430) readonly buffer Stored { float stored[]; };
float stored_element(uint address) { return stored[address]; }
