// B as a uniform texel buffer, one vector a texel: one or four channels, of 32 bits or of 16.
layout(binding = 1) uniform samplerBuffer b;
VECTOR_B fetch_b(uint vector_index) { return VECTOR_B(texelFetch(b, int(vector_index))); }
