// Four signed integers of the stored operand, as float32.
layout(binding = 0) uniform isamplerBuffer stored;
vec4 stored_texel(uint i) { return vec4(texelFetch(stored, int(i))); }
