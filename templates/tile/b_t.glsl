// B is stored n x k: vectors run along k and are transposed as they are written to shared memory.
// Addresses count vectors.
const uint B_VECTORS = TILE_K / VECTOR_WIDTH_B;  // in a column of the tile
VECTOR_B b_next[TILE_N * B_VECTORS / LOCAL_SIZE];

void fetch_tile_b(uint column0, uint k0) {
  [[unroll]] for (uint l = 0; l < TILE_N * B_VECTORS / LOCAL_SIZE; ++l) {
    const uint v = gl_LocalInvocationIndex + l * LOCAL_SIZE;
    const uint column = clamp_index(column0 + v / B_VECTORS, n - 1);
    const uint step = k0 / VECTOR_WIDTH_B + v % B_VECTORS;
    b_next[l] = keep_first(fetch_b((offset_b + column * ldb) / VECTOR_WIDTH_B +
                             clamp_index(step, (k - 1) / VECTOR_WIDTH_B)),
                     steps_left(step * VECTOR_WIDTH_B));
  }
}

void put_tile_b(uint stage) {
  [[unroll]] for (uint l = 0; l < TILE_N * B_VECTORS / LOCAL_SIZE; ++l) {
    const uint v = gl_LocalInvocationIndex + l * LOCAL_SIZE;
    [[unroll]] for (uint w = 0; w < VECTOR_WIDTH_B; ++w)
      put_b(stage, v % B_VECTORS * VECTOR_WIDTH_B + w, v / B_VECTORS, component(b_next[l], w));
  }
}
