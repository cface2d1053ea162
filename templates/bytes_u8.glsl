// Words of four unsigned integers: what is taken out of one is zero-extended.
#define BYTES uint
