// A as a uniform texel buffer of bfloat16, one vector a texel: R16 or RGBA16, as integers.
layout(binding = 0) uniform usamplerBuffer a;
VECTOR_A fetch_a(uint vector_index) {
  return VECTOR_A(uintBitsToFloat(texelFetch(a, int(vector_index)) << 16));
}
