// A window of blocks in registers: whole words, of which the first may lie anywhere in a vector. All
// positions in it are constants, so that a window is read by vectors and one choice of words, however
// its blocks are aligned.
const uint WINDOW_BLOCKS = BLOCK_FORMAT == 7 ? 4 : 2;
const uint WINDOW = WINDOW_BLOCKS * BLOCK;  // in elements
const uint WINDOW_BYTES = WINDOW_BLOCKS * BLOCK_BYTES, WINDOW_WORDS = WINDOW_BYTES / 4;
const uint WINDOW_VECTORS = (WINDOW_WORDS + 6) / 4;  // if it begins at a vector's last word
uint window[WINDOW_WORDS];

// Reads the window from byte `base` on, a multiple of 4, and no vector that begins behind it.
void load_window(uint base) {
  const uint phase = base / 4 % 4, last = (base + WINDOW_BYTES - 1) / 16;
  uint words[WINDOW_VECTORS * 4];
  [[unroll]] for (uint v = 0; v < WINDOW_VECTORS; ++v) {
    // Windows of 4 i + 1 words take the same number of vectors wherever they begin.
    const uvec4 x = fetch_words(WINDOW_WORDS % 4 == 1 ? base / 16 + v : min(base / 16 + v, last));
    [[unroll]] for (uint i = 0; i < 4; ++i) words[v * 4 + i] = x[i];
  }
  [[unroll]] for (uint i = 0; i < WINDOW_WORDS + 1; ++i)
    words[i] = (phase & 2) != 0 ? words[i + 2] : words[i];
  [[unroll]] for (uint i = 0; i < WINDOW_WORDS; ++i)
    window[i] = (phase & 1) != 0 ? words[i + 1] : words[i];
}
