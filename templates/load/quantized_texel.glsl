// Words, scales and zero points of a quantised B in uniform texel buffers. fetch_words counts
// vectors of words, fetch_scale and fetch_zero_point blocks, fetch_zero_point_byte bytes of packed
// zero points.
layout(binding = B_BINDING) uniform usamplerBuffer b;
layout(binding = SCALE_BINDING) uniform samplerBuffer scales;

WORD_VECTOR fetch_words(uint vector_index) { return WORD_VECTOR(texelFetch(b, int(vector_index))); }
float fetch_scale(uint i) { return texelFetch(scales, int(i)).x; }

#if ZERO_POINT == 1
layout(binding = SCALE_BINDING + 1) uniform usamplerBuffer zero_points;
uint fetch_zero_point_byte(uint i) { return texelFetch(zero_points, int(i)).x; }
#elif ZERO_POINT == 2
layout(binding = SCALE_BINDING + 1) uniform samplerBuffer zero_points;
float fetch_zero_point(uint i) { return texelFetch(zero_points, int(i)).x; }
#endif
