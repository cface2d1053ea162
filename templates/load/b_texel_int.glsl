// B in a uniform texel buffer of signed integers; a texel is one vector.
layout(binding = 1) uniform isamplerBuffer b;
VECTOR_B fetch_b(uint vector_index) { return VECTOR_B(texelFetch(b, int(vector_index))); }
