// A is stored m x k: vectors run along k and are transposed as they are written to shared memory.
// Addresses count vectors.
const uint A_VECTORS = TILE_K / VECTOR_WIDTH_A;  // in a row of the tile
VECTOR_A a_next[TILE_M * A_VECTORS / LOCAL_SIZE];

void fetch_tile_a(uint row0, uint k0) {
  [[unroll]] for (uint l = 0; l < TILE_M * A_VECTORS / LOCAL_SIZE; ++l) {
    const uint v = gl_LocalInvocationIndex + l * LOCAL_SIZE;
    const uint row = clamp_index(row0 + v / A_VECTORS, m - 1);
    const uint step = k0 / VECTOR_WIDTH_A + v % A_VECTORS;
    a_next[l] = keep_first(fetch_a((offset_a + row * lda) / VECTOR_WIDTH_A +
                             clamp_index(step, (k - 1) / VECTOR_WIDTH_A)),
                     steps_left(step * VECTOR_WIDTH_A));
  }
}

void put_tile_a(uint stage) {
  [[unroll]] for (uint l = 0; l < TILE_M * A_VECTORS / LOCAL_SIZE; ++l) {
    const uint v = gl_LocalInvocationIndex + l * LOCAL_SIZE;
    [[unroll]] for (uint w = 0; w < VECTOR_WIDTH_A; ++w)
      put_a(stage, v % A_VECTORS * VECTOR_WIDTH_A + w, v / A_VECTORS, component(a_next[l], w));
  }
}
