// A as a uniform texel buffer, one vector a texel: one or four channels, of 32 bits or of 16.
layout(binding = 0) uniform samplerBuffer a;
VECTOR_A fetch_a(uint vector_index) { return VECTOR_A(texelFetch(a, int(vector_index))); }
