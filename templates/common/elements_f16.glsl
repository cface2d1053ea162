// Type of operand elements in registers and of sums: float16, where the caller allows
// half-precision sums.
#extension GL_EXT_shader_explicit_arithmetic_types_float16 : enable
#define ELEMENT float16_t
#define ELEMENT_2 f16vec2
#define ELEMENT_4 f16vec4
