// A quantised B: its words, scales and zero points as uniform texel buffers. Indices count vectors of
// words, blocks, and bytes of packed zero points or blocks of float ones.
layout(binding = B_BINDING) uniform usamplerBuffer b;
layout(binding = SCALE_BINDING) uniform samplerBuffer scales;

WORDS fetch_words(uint vector_index) { return WORDS(texelFetch(b, int(vector_index))); }
float fetch_scale(uint i) { return texelFetch(scales, int(i)).x; }

#if ZERO_POINT == 1
layout(binding = SCALE_BINDING + 1) uniform usamplerBuffer zero_points;
uint fetch_zero_byte(uint i) { return texelFetch(zero_points, int(i)).x; }
#elif ZERO_POINT == 2
layout(binding = SCALE_BINDING + 1) uniform samplerBuffer zero_points;
float fetch_zero(uint i) { return texelFetch(zero_points, int(i)).x; }
#endif
