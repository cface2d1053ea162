// Converts the two float16 elements of a 32-bit word to float32; the first lies in the low bits.
vec2 widen(uint word) { return unpackHalf2x16(word); }
