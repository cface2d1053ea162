//: Words and bytes of blocks, in one of three ways. Depends on WORD_VECTOR_WIDTH and BLOCK_FORMAT.
//: - 1: they are read from memory word by word.
//: - 4, and blocks are whole vectors (Q4_K, Q5_K): from memory by vectors.
//: - 4, and they are not: by windows, the fewest blocks that are whole words, or half a block of Q6_K,
//:   whose parts have half of a block's length.

uint upper_and_lower(uint upper, uint lower, uint shift) {
  return lower >> shift | upper << 1 << (31 - shift);
}

#define WINDOWS (WORD_VECTOR_WIDTH == 4 && BLOCK_FORMAT != Q4_K && BLOCK_FORMAT != Q5_K)
const uint HIGH_Q6_K = WINDOWS ? 64 : 128, SCALES_Q6_K = WINDOWS ? 96 : 192,
           SCALE_Q6_K = WINDOWS ? 104 : 208;  // bytes at which its parts begin

#if WINDOWS
// A window of blocks in registers. All positions in it are constants, so that a window is read by
// vectors and one choice of words, however its blocks are aligned. A trip of blocks that are whole
// vectors is one window, and needs no choice.
#define WHOLE_IF_MXFP4 (BLOCK_FORMAT != MXFP4 || GROUPS_TOGETHER % 32 == 0)
#define WHOLE_VECTORS (BLOCK_FORMAT != Q6_K && GROUPS_TOGETHER % 16 == 0 && WHOLE_IF_MXFP4)
#if BLOCK_FORMAT == Q6_K
const uint WINDOW = 128, WINDOW_WORDS = 27, MOST_WORDS = 17;  // WINDOW is in elements
#else
const uint WINDOW_BLOCKS = (BLOCK_FORMAT == MXFP4 ? 2 : 1) * (WHOLE_VECTORS ? 8 : 2);
const uint WINDOW = WINDOW_BLOCKS * BLOCK, WINDOW_WORDS = WINDOW_BLOCKS * BLOCK_BYTES / 4,
           MOST_WORDS = WINDOW_WORDS;
#endif
uint window[WINDOW_WORDS];

#if WHOLE_VECTORS
// Reads the vectors in which block `i` of the window ends, and that block i - 1 does not end in.
// `base` is the window's first byte.
void read_block(uint base, uint i) {
  const uint first = (i * BLOCK_BYTES + 15) / 16, end = ((i + 1) * BLOCK_BYTES + 15) / 16;
  [[unroll]] for (uint v = 0; v < BLOCK_BYTES / 16 + 1; ++v)
    if (first + v < end) {
      const uvec4 x = fetch_words(base / 16 + first + v);
      [[unroll]] for (uint w = 0; w < 4; ++w) window[(first + v) * 4 + w] = x[w];
    }
}

#else
// Reads `count` words, at most MOST_WORDS, from the one that holds byte `base` on, and no vector
// that begins behind them.
uint words[(MOST_WORDS + 6) / 4 * 4];
void read_words(uint base, uint count) {
  const uint phase = base / 4 % 4, first = base / 16, last = (base / 4 + count - 1) / 4;
  [[unroll]] for (uint v = 0; v < (count + 6) / 4; ++v) {
    // 4 i + 1 words take the same number of vectors wherever they begin.
    const uvec4 x = fetch_words(count % 4 == 1 ? first + v : min(first + v, last));
    [[unroll]] for (uint i = 0; i < 4; ++i) words[v * 4 + i] = x[i];
  }
  [[unroll]] for (uint i = 0; i < count + 1; ++i)
    words[i] = (phase & 2) != 0 ? words[i + 2] : words[i];
  [[unroll]] for (uint i = 0; i < count; ++i)
    words[i] = (phase & 1) != 0 ? words[i + 1] : words[i];
}

// load_window() reads the window that begins at a step, a multiple of WINDOW, of the row from byte
// `row` on.
#if BLOCK_FORMAT != Q6_K
void load_window(uint row, uint step) {
  read_words(row + step / BLOCK * BLOCK_BYTES, WINDOW_WORDS);
  [[unroll]] for (uint i = 0; i < WINDOW_WORDS; ++i) window[i] = words[i];
}
#else
// Every part begins at any even byte, and the word behind it is a part of the same block.
void read_part(uint base, uint first, uint count) {
  read_words(base, count + 1);
  [[unroll]] for (uint i = 0; i < count; ++i)
    window[first + i] = upper_and_lower(words[i + 1], words[i], base % 4 * 8);
}
void load_window(uint row, uint step) {
  const uint block = row + step / BLOCK * BLOCK_BYTES, upper_half = step / WINDOW % 2;
  read_part(block + upper_half * 64, 0, 16);
  read_part(block + 128 + upper_half * 32, HIGH_Q6_K / 4, 8);
  const uint shift = block % 4 * 8;
  read_words(block + 192, 5);  // the scales of both halves, and their scale
  window[SCALE_Q6_K / 4] = words[4] >> shift;
  [[unroll]] for (uint i = 0; i < 2; ++i)
    window[SCALES_Q6_K / 4 + i] =
        upper_half != 0 ? upper_and_lower(words[i + 3], words[i + 2], shift)
                        : upper_and_lower(words[i + 1], words[i], shift);
}
#endif
#endif
#endif

// Words from byte `base + offset` on. Where loads are vectors, base is a multiple of 16, so that
// compilers take constant words of them for a constant offset; in a window it is 0. A word beyond
// the last byte that is asked for is never read.
uint one_word(uint x, uint i) { return x; }
uint one_word(uvec4 x, uint i) { return x[i]; }
uint word(uint base, uint offset) {
#if WINDOWS
  return window[offset / 4];
#elif WORD_VECTOR_WIDTH == 4
  return one_word(fetch_words(base / 16 + offset / 16), offset % 16 / 4);
#else
  return one_word(fetch_words((base + offset) / 4), 0);
#endif
}
uint shift_of(uint base, uint offset) {
  if (BLOCK_BYTES % 4 == 0) return 0;
  return (WORD_VECTOR_WIDTH == 4 ? offset % 4 : (base + offset) % 4) * 8;
}
uint four_bytes(uint base, uint offset) {
  return upper_and_lower(word(base, offset + 3), word(base, offset), shift_of(base, offset));
}
uvec4 sixteen_bytes(uint base, uint offset) {
#if WORD_VECTOR_WIDTH == 4 && !WINDOWS
  return fetch_words(base / 16 + offset / 16);  // blocks and their parts begin at multiples of 16
#else
  const uint shift = shift_of(base, offset);
  const uvec4 words = uvec4(word(base, offset), word(base, offset + 4), word(base, offset + 8),
                            word(base, offset + 12));
  if (BLOCK_BYTES % 4 == 0) return words;
  return uvec4(upper_and_lower(words.y, words.x, shift), upper_and_lower(words.z, words.y, shift),
               upper_and_lower(words.w, words.z, shift),
               upper_and_lower(word(base, offset + 15), words.w, shift));
#endif
}
// From an even byte on.
float half_at(uint base, uint offset) {
  return unpackHalf2x16(word(base, offset) >> shift_of(base, offset)).x;
}
uint byte_at(uint base, uint offset) {
  return word(base, offset) >> (WORD_VECTOR_WIDTH == 4 ? offset % 4 : (base + offset) % 4) * 8 & 0xffu;
}
