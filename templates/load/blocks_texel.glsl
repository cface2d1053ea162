// The words of a quantised B in a uniform texel buffer. fetch_words counts vectors of words.
layout(binding = B_BINDING) uniform usamplerBuffer b;

WORD_VECTOR fetch_words(uint vector_index) { return WORD_VECTOR(texelFetch(b, int(vector_index))); }
