// Four bfloat16 elements of the stored operand, as float32.
layout(binding = 0) uniform usamplerBuffer stored;
vec4 stored_texel(uint i) { return uintBitsToFloat(texelFetch(stored, int(i)) << 16); }
