// Two floats of C in a word, the first in the low bits: IEEE half precision.
uint narrow_c(vec2 x) { return packHalf2x16(x); }
vec2 widen_c(uint word) { return unpackHalf2x16(word); }
