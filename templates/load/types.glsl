//: Elements of 8 and 16 bits lie in 32-bit words, so that the device needs no storage of fewer
//: bits; the first one lies in the low bits. Depends on TYPE.

#if TYPE == F16
// The two float16 elements of a word, as float32.
vec2 widen(uint word) { return unpackHalf2x16(word); }
#elif TYPE == BF16
// The two bfloat16 elements of a word, as float32, of which a bfloat16 is the upper half.
vec2 widen(uint word) { return uintBitsToFloat(uvec2(word << 16, word & 0xffff0000u)); }
#elif TYPE == I8
// A word of four integers: bitfieldExtract extends the sign.
#define BYTE_WORD int
#elif TYPE == U8
// A word of four integers: bitfieldExtract fills with zeros.
#define BYTE_WORD uint
#endif
