// The words of B where a trip's are loaded before the trip in front of it is multiplied:
// fragment/b_blocks_ahead.glsl says for each load whether it is of memory.
#include "load/blocks_buffer.glsl"

WORD_VECTOR words_ahead(uint vector_index);
#define fetch_words words_ahead
