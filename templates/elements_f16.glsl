// Elements of fragments and sums: half precision where the caller allows it.
#extension GL_EXT_shader_explicit_arithmetic_types_float16 : enable
#define ELEMENT float16_t
#define ELEMENT_2 f16vec2
#define ELEMENT_4 f16vec4
