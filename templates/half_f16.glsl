// Two elements of a 32-bit word as float32: IEEE half precision. The first lies in the low bits.
vec2 widen(uint word) { return unpackHalf2x16(word); }
