// Elements are words of four signed 8-bit integers, neighbours along k, and a product is their dot
// product. The instruction is written as a SPIR-V intrinsic, since Debian 12's compiler does not
// know GLSL's function: OpSDotKHR of SPV_KHR_integer_dot_product, packed vector format 0 (4 x 8
// bits).
#extension GL_EXT_spirv_intrinsics : enable
spirv_instruction(extensions = ["SPV_KHR_integer_dot_product"], capabilities = [6019, 6018], id = 4450)
int dot_of_four(int x, int y, spirv_literal int packed_format);
int product(int x, int y) { return dot_of_four(x, y, 0); }
ivec2 product(int x, ivec2 y) { return ivec2(product(x, y.x), product(x, y.y)); }
ivec4 product(int x, ivec4 y) { return ivec4(product(x, y.xy), product(x, y.zw)); }
