// Like product_dot.glsl for unsigned integers: OpUDotKHR has unsigned operands and an unsigned
// result, whose bits are those of int.
#extension GL_EXT_spirv_intrinsics : enable
spirv_instruction(extensions = ["SPV_KHR_integer_dot_product"], capabilities = [6019, 6018], id = 4451)
uint dot_of_four(uint x, uint y, spirv_literal int packed_format);
int product(int x, int y) { return int(dot_of_four(uint(x), uint(y), 0)); }
ivec2 product(int x, ivec2 y) { return ivec2(product(x, y.x), product(x, y.y)); }
ivec4 product(int x, ivec4 y) { return ivec4(product(x, y.xy), product(x, y.zw)); }
