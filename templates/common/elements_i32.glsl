// Type of operand elements in registers and of sums: int32, exact.
#define ELEMENT int
#define ELEMENT_2 ivec2
#define ELEMENT_4 ivec4
