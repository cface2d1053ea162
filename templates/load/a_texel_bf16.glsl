// A in a uniform texel buffer of bfloat16; a texel is one vector, R16_UINT or RGBA16_UINT, whose
// bits become the upper halves of float32.
layout(binding = 0) uniform usamplerBuffer a;
VECTOR_A fetch_a(uint vector_index) {
  return VECTOR_A(uintBitsToFloat(texelFetch(a, int(vector_index)) << 16));
}
