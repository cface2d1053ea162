// Four float32 or float16 elements of the stored operand.
layout(binding = 0) uniform samplerBuffer stored;
vec4 stored_texel(uint i) { return texelFetch(stored, int(i)); }
