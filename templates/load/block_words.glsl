//: Words and bytes of blocks, in one of three ways. Depends on WORD_VECTOR_WIDTH and BLOCK_WINDOW.
//: - 1: they are read from memory word by word.
//: - 4, and blocks are whole vectors (Q4_K, Q5_K): from memory by vectors.
//: - 4, and they are not: by windows of BLOCK_WINDOW elements, the fewest blocks that are whole words, or whole
//:   vectors where a trip takes these, or half a block of 256.

uint upper_and_lower(uint upper, uint lower, uint shift) {
  return lower >> shift | upper << 1 << (31 - shift);
}

#define WINDOWS (BLOCK_WINDOW > 0)
#define HALF_BLOCKS (WINDOWS && BLOCK == 256)
#define WHOLE_VECTORS (WINDOWS && !HALF_BLOCKS && BLOCK_WINDOW / BLOCK * BLOCK_BYTES % 16 == 0)

// Bytes at which parts of a block begin, or of half a block in its window: the lower bits of elements
// at LOW_PLACE, the upper ones at HIGH_PLACE, the scales of groups at SCALES_PLACE, and the scale of
// these at SCALE_PLACE. HIGH_SHIFT is the first upper bit of a window's elements. HALF_OF_GROUP is the
// half of a block that a group is in: it follows from the group's number, or is that of the window,
// whose groups count from 0.
#if !HALF_BLOCKS
#define LOW_PLACE LOW_FIRST
#define HIGH_PLACE HIGH_FIRST
#define HIGH_SHIFT 0
#if BLOCK_FORMAT == Q2_K
#define SCALES_PLACE 0
#define SCALE_PLACE 80
#elif BLOCK_FORMAT == Q3_K
#define SCALES_PLACE 96
#define SCALE_PLACE 108
#elif BLOCK_FORMAT == Q6_K
#define SCALES_PLACE 192
#define SCALE_PLACE 208
#endif
#define HALF_OF_GROUP (group / 8)
#else
uint window_half;  // 0: the lower half of the block, 1: the upper one
#define HALF_OF_GROUP window_half
#if BLOCK_FORMAT == Q2_K
#define SCALES_PLACE 0
#define LOW_PLACE 8
#define SCALE_PLACE 40
const uint WINDOW_WORDS = 11, MOST_WORDS = 8, WINDOW_LOADS = 6;
#elif BLOCK_FORMAT == Q3_K  // with the upper bits and scales of both halves
#define HIGH_PLACE 0
#define HIGH_SHIFT window_half * 4
#define LOW_PLACE 32
#define SCALES_PLACE 64
#define SCALE_PLACE 76
const uint WINDOW_WORDS = 20, MOST_WORDS = 9, WINDOW_LOADS = 8;
#elif BLOCK_FORMAT == IQ4_XS  // with the scales of both halves
#define LOW_PLACE 8
const uint WINDOW_WORDS = 18, MOST_WORDS = 16, WINDOW_LOADS = 7;
#elif BLOCK_FORMAT == Q6_K
#define LOW_PLACE 0
#define HIGH_PLACE 64
#define HIGH_SHIFT 0
#define SCALES_PLACE 96
#define SCALE_PLACE 104
const uint WINDOW_WORDS = 27, MOST_WORDS = 17, WINDOW_LOADS = 10;
#endif
#endif

#if WINDOWS
// A window of blocks in registers. All positions in it are constants, so that a window is read by
// vectors and one choice of words, however its blocks are aligned. A trip of blocks that are whole
// vectors is one window, and needs no choice.
#if !HALF_BLOCKS
const uint WINDOW_BLOCKS = BLOCK_WINDOW / BLOCK, WINDOW_WORDS = WINDOW_BLOCKS * BLOCK_BYTES / 4,
           MOST_WORDS = WINDOW_WORDS, WINDOW_LOADS = (WINDOW_WORDS + 6) / 4;
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

// load_window() reads the window that begins at a step, a multiple of BLOCK_WINDOW, of the row from
// byte `row` on.
#if !HALF_BLOCKS
void load_window(uint row, uint step) {
  read_words(row + step / BLOCK * BLOCK_BYTES, WINDOW_WORDS);
  [[unroll]] for (uint i = 0; i < WINDOW_WORDS; ++i) window[i] = words[i];
}
#else
// Words from any even byte on, where the next word is one of the same block, or from a multiple of
// four on where blocks are whole words. They become those of the window from word `to` on.
void take_words(uint base, uint count, uint to) {
  const bool whole = BLOCK_BYTES % 4 == 0;
  read_words(base, whole ? count : count + 1);
  [[unroll]] for (uint i = 0; i < count; ++i)
    window[to + i] = whole ? words[i] : upper_and_lower(words[i + 1], words[i], base % 4 * 8);
}
void load_window(uint row, uint step) {
  const uint block = row + step / BLOCK * BLOCK_BYTES;
  window_half = step / BLOCK_WINDOW % 2;
#if BLOCK_FORMAT == Q2_K
  take_words(block + window_half * 8, 2, SCALES_PLACE / 4);
  take_words(block + LOW_FIRST + window_half * 32, 8, LOW_PLACE / 4);
  take_words(block + 80, 1, SCALE_PLACE / 4);
#elif BLOCK_FORMAT == Q3_K
  take_words(block, 8, HIGH_PLACE / 4);
  take_words(block + LOW_FIRST + window_half * 32, 8, LOW_PLACE / 4);
  const uint shift = block % 4 * 8;
  read_words(block + 96, 4);  // the scales and, in the last 16 bits, their scale
  window[SCALE_PLACE / 4] = words[3] >> shift;
  [[unroll]] for (uint i = 0; i < 3; ++i)
    window[SCALES_PLACE / 4 + i] = upper_and_lower(words[i + 1], words[i], shift);
#elif BLOCK_FORMAT == IQ4_XS
  take_words(block, 2, 0);
  take_words(block + LOW_FIRST + window_half * 64, 16, LOW_PLACE / 4);
#elif BLOCK_FORMAT == Q6_K
  take_words(block + window_half * 64, 16, LOW_PLACE / 4);
  take_words(block + HIGH_FIRST + window_half * 32, 8, HIGH_PLACE / 4);
  const uint shift = block % 4 * 8;
  read_words(block + 192, 5);  // the scales of both halves, and their scale
  window[SCALE_PLACE / 4] = words[4] >> shift;
  [[unroll]] for (uint i = 0; i < 2; ++i)
    window[SCALES_PLACE / 4 + i] =
        window_half != 0 ? upper_and_lower(words[i + 3], words[i + 2], shift)
                         : upper_and_lower(words[i + 1], words[i], shift);
#endif
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

#if BLOCK_BYTES % 4 == 0
uint shift_of(uint base, uint offset) { return 0; }
uint four_bytes(uint base, uint offset) { return word(base, offset); }
#else
uint shift_of(uint base, uint offset) {
  return (WORD_VECTOR_WIDTH == 4 ? offset % 4 : (base + offset) % 4) * 8;
}
uint four_bytes(uint base, uint offset) {
  return upper_and_lower(word(base, offset + 3), word(base, offset), shift_of(base, offset));
}
#endif
uvec4 sixteen_bytes(uint base, uint offset) {
#if WORD_VECTOR_WIDTH == 4 && !WINDOWS
  return fetch_words(base / 16 + offset / 16);  // blocks and their parts begin at multiples of 16
#else
  const uvec4 words = uvec4(word(base, offset), word(base, offset + 4), word(base, offset + 8),
                            word(base, offset + 12));
#if BLOCK_BYTES % 4 == 0
  return words;
#else
  const uint shift = shift_of(base, offset);
  return uvec4(upper_and_lower(words.y, words.x, shift), upper_and_lower(words.z, words.y, shift),
               upper_and_lower(words.w, words.z, shift),
               upper_and_lower(word(base, offset + 15), words.w, shift));
#endif
#endif
}
// From an even byte on.
float half_at(uint base, uint offset) {
  return unpackHalf2x16(word(base, offset) >> shift_of(base, offset)).x;
}
uint byte_at(uint base, uint offset) {
  return word(base, offset) >> (WORD_VECTOR_WIDTH == 4 ? offset % 4 : (base + offset) % 4) * 8 & 0xffu;
}
