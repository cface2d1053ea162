// B in a uniform texel buffer of float32 or float16; a texel is one vector, of one or four
// channels.
layout(binding = 1) uniform samplerBuffer b;
VECTOR_B fetch_b(uint vector_index) { return VECTOR_B(texelFetch(b, int(vector_index))); }
