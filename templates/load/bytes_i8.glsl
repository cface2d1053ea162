// A word of four signed 8-bit integers: bitfieldExtract extends the sign.
#define BYTE_WORD int
