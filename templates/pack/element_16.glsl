// One 16-bit element of the stored operand, as float32.
layout(binding = 0, std430) readonly buffer Stored { uint stored_words[]; };
float stored_element(uint address) { return widen(stored_words[address / 2])[address % 2]; }
