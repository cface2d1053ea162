// B as a uniform texel buffer of bfloat16, one vector a texel: R16 or RGBA16, as integers.
layout(binding = 1) uniform usamplerBuffer b;
VECTOR_B fetch_b(uint vector_index) {
  return VECTOR_B(uintBitsToFloat(texelFetch(b, int(vector_index)) << 16));
}
