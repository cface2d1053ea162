// Type of operand elements in registers and of sums of unsigned matrix operands: uint32. The bits
// are those of int32, since sums stay below 2^31.
#define ELEMENT uint
#define ELEMENT_2 uvec2
#define ELEMENT_4 uvec4
