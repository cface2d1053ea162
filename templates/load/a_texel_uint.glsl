// A in a uniform texel buffer of unsigned integers; a texel is one vector.
layout(binding = 0) uniform usamplerBuffer a;
VECTOR_A fetch_a(uint vector_index) { return VECTOR_A(texelFetch(a, int(vector_index))); }
