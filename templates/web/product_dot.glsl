// Elements are words of four signed 8-bit integers, neighbours along k, and a product is their dot
// product. The translation to WGSL replaces the body of dot_of_four_signed by dot4I8Packed, which
// GLSL has no word for (web/wgsl/translate.mjs).
int dot_of_four_signed(int x, int y) {
  int sum = 0;
  [[unroll]] for (int i = 0; i < 32; i += 8)
    sum += bitfieldExtract(x, i, 8) * bitfieldExtract(y, i, 8);
  return sum;
}
int product(int x, int y) { return dot_of_four_signed(x, y); }
ivec2 product(int x, ivec2 y) { return ivec2(product(x, y.x), product(x, y.y)); }
ivec4 product(int x, ivec4 y) { return ivec4(product(x, y.xy), product(x, y.zw)); }
