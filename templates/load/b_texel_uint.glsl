// B in a uniform texel buffer of unsigned integers; a texel is one vector.
layout(binding = 1) uniform usamplerBuffer b;
VECTOR_B fetch_b(uint vector_index) { return VECTOR_B(texelFetch(b, int(vector_index))); }
