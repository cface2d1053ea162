// B in a uniform texel buffer of bfloat16; a texel is one vector, R16_UINT or RGBA16_UINT, whose
// bits become the upper halves of float32.
layout(binding = 1) uniform usamplerBuffer b;
VECTOR_B fetch_b(uint vector_index) {
  return VECTOR_B(uintBitsToFloat(texelFetch(b, int(vector_index)) << 16));
}
