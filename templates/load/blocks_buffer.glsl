// The words of a quantised B in a storage buffer. fetch_words counts vectors of words.
layout(binding = B_BINDING, std430) readonly buffer OperandB { WORD_VECTOR b[]; };

WORD_VECTOR fetch_words(uint vector_index) { return b[vector_index]; }
