// Words, scales and zero points of a quantised B in storage buffers. fetch_words counts vectors of
// words, fetch_scale and fetch_zero_point blocks, fetch_zero_point_byte bytes of packed zero
// points.
layout(binding = B_BINDING, std430) readonly buffer OperandB { WORD_VECTOR b[]; };
layout(binding = SCALE_BINDING, std430) readonly buffer Scales { SCALE_WORD scales[]; };

WORD_VECTOR fetch_words(uint vector_index) { return b[vector_index]; }
#if SCALE_BYTES == 2
float fetch_scale(uint i) { return unpackHalf2x16(scales[i / 2] >> (i % 2 << 4)).x; }
#else
float fetch_scale(uint i) { return scales[i]; }
#endif

#if ZERO_POINT == 1
layout(binding = SCALE_BINDING + 1, std430) readonly buffer ZeroPoints { uint zero_points[]; };
uint fetch_zero_point_byte(uint i) { return bitfieldExtract(zero_points[i / 4], int(i % 4 * 8), 8); }
#elif ZERO_POINT == 2
layout(binding = SCALE_BINDING + 1, std430) readonly buffer ZeroPoints { SCALE_WORD zero_points[]; };
#if SCALE_BYTES == 2
float fetch_zero_point(uint i) { return unpackHalf2x16(zero_points[i / 2] >> (i % 2 << 4)).x; }
#else
float fetch_zero_point(uint i) { return zero_points[i]; }
#endif
#endif
