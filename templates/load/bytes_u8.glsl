// A word of four unsigned 8-bit integers: bitfieldExtract fills with zeros.
#define BYTE_WORD uint
