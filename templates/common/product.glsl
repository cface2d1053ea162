//: Multiplies an element of A with PRODUCT_WIDTH elements of B.
#if DOT == 1 && PRODUCT_WIDTH == 1
ELEMENT product(ELEMENT x, ELEMENT y) { return x * y; }
#elif DOT == 1 && PRODUCT_WIDTH == 2
ELEMENT_2 product(ELEMENT x, ELEMENT_2 y) { return x * y; }
#elif DOT == 1
ELEMENT_4 product(ELEMENT x, ELEMENT_4 y) { return x * y; }
#else
// Elements are words of four 8-bit integers, neighbours along k, and a product is their dot
// product.
#if WEB && TYPE == U8
// The translation to WGSL replaces the body by dot4U8Packed, which GLSL has no word for
// (web/wgsl/translate.mjs).
int dot_of_four_unsigned(int x, int y) {
  uint sum = 0;
  [[unroll]] for (int i = 0; i < 32; i += 8)
    sum += bitfieldExtract(uint(x), i, 8) * bitfieldExtract(uint(y), i, 8);
  return int(sum);
}
int product(int x, int y) { return dot_of_four_unsigned(x, y); }
#elif WEB
// The translation to WGSL replaces the body by dot4I8Packed.
int dot_of_four_signed(int x, int y) {
  int sum = 0;
  [[unroll]] for (int i = 0; i < 32; i += 8)
    sum += bitfieldExtract(x, i, 8) * bitfieldExtract(y, i, 8);
  return sum;
}
int product(int x, int y) { return dot_of_four_signed(x, y); }
#elif TYPE == U8
// The instruction is written as a SPIR-V intrinsic, since Debian 12's compiler does not know GLSL's
// function: OpUDotKHR of SPV_KHR_integer_dot_product, packed vector format 0 (4 x 8 bits). Operands
// and result are unsigned, and the result's bits are those of int.
#extension GL_EXT_spirv_intrinsics : enable
spirv_instruction(extensions = ["SPV_KHR_integer_dot_product"], capabilities = [6019, 6018], id = 4451)
uint dot_of_four(uint x, uint y, spirv_literal int packed_format);
int product(int x, int y) { return int(dot_of_four(uint(x), uint(y), 0)); }
#else
// The same for signed integers: OpSDotKHR.
#extension GL_EXT_spirv_intrinsics : enable
spirv_instruction(extensions = ["SPV_KHR_integer_dot_product"], capabilities = [6019, 6018], id = 4450)
int dot_of_four(int x, int y, spirv_literal int packed_format);
int product(int x, int y) { return dot_of_four(x, y, 0); }
#endif
#if PRODUCT_WIDTH > 1
ivec2 product(int x, ivec2 y) { return ivec2(product(x, y.x), product(x, y.y)); }
#endif
#if PRODUCT_WIDTH == 4
ivec4 product(int x, ivec4 y) { return ivec4(product(x, y.xy), product(x, y.zw)); }
#endif
#endif
