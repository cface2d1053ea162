// A in a uniform texel buffer of float32 or float16; a texel is one vector, of one or four
// channels.
layout(binding = 0) uniform samplerBuffer a;
VECTOR_A fetch_a(uint vector_index) { return VECTOR_A(texelFetch(a, int(vector_index))); }
