// B as a uniform texel buffer of unsigned integers, one vector a texel.
layout(binding = 1) uniform usamplerBuffer b;
VECTOR_B fetch_b(uint vector_index) { return VECTOR_B(texelFetch(b, int(vector_index))); }
