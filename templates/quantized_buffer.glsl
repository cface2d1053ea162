// A quantised B: its words, scales and zero points as storage buffers. Indices count vectors of words,
// blocks, and bytes of packed zero points or blocks of float ones.
layout(binding = B_BINDING, std430) readonly buffer OperandB { WORDS b[]; };
layout(binding = SCALE_BINDING, std430) readonly buffer Scales { SCALE_WORD scales[]; };

WORDS fetch_words(uint vector_index) { return b[vector_index]; }
#if SCALE_BYTES == 2
float fetch_scale(uint i) { return unpackHalf2x16(scales[i / 2])[i % 2]; }
#else
float fetch_scale(uint i) { return scales[i]; }
#endif

#if ZERO_POINT == 1
layout(binding = SCALE_BINDING + 1, std430) readonly buffer ZeroPoints { uint zero_points[]; };
uint fetch_zero_byte(uint i) { return bitfieldExtract(zero_points[i / 4], int(i % 4 * 8), 8); }
#elif ZERO_POINT == 2
layout(binding = SCALE_BINDING + 1, std430) readonly buffer ZeroPoints { SCALE_WORD zero_points[]; };
#if SCALE_BYTES == 2
float fetch_zero(uint i) { return unpackHalf2x16(zero_points[i / 2])[i % 2]; }
#else
float fetch_zero(uint i) { return zero_points[i]; }
#endif
#endif
