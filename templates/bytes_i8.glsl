// Words of four signed integers: what is taken out of one is sign-extended.
#define BYTES int
