// Type of operand elements in registers and of sums: float32.
#define ELEMENT float
#define ELEMENT_2 vec2
#define ELEMENT_4 vec4
