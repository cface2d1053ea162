layout(binding = 0) uniform samplerBuffer stored;
vec4 stored_texel(uint i) { return texelFetch(stored, int(i)); }
