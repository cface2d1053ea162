// Two elements of a 32-bit word as float32: bfloat16, the upper half of one. The first lies in the
// low bits.
vec2 widen(uint word) { return uintBitsToFloat(uvec2(word << 16, word & 0xffff0000u)); }
