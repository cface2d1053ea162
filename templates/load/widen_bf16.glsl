// Converts the two bfloat16 elements of a 32-bit word to float32, of which a bfloat16 is the upper
// half; the first lies in the low bits.
vec2 widen(uint word) { return uintBitsToFloat(uvec2(word << 16, word & 0xffff0000u)); }
