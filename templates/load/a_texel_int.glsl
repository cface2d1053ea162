// A in a uniform texel buffer of signed integers; a texel is one vector.
layout(binding = 0) uniform isamplerBuffer a;
VECTOR_A fetch_a(uint vector_index) { return VECTOR_A(texelFetch(a, int(vector_index))); }
