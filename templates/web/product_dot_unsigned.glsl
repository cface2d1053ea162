// Like web/product_dot.glsl for unsigned integers: the translation to WGSL replaces the body of
// dot_of_four_unsigned by dot4U8Packed.
int dot_of_four_unsigned(int x, int y) {
  uint sum = 0;
  [[unroll]] for (int i = 0; i < 32; i += 8)
    sum += bitfieldExtract(uint(x), i, 8) * bitfieldExtract(uint(y), i, 8);
  return int(sum);
}
int product(int x, int y) { return dot_of_four_unsigned(x, y); }
ivec2 product(int x, ivec2 y) { return ivec2(product(x, y.x), product(x, y.y)); }
ivec4 product(int x, ivec4 y) { return ivec4(product(x, y.xy), product(x, y.zw)); }
