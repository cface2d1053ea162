// B is stored k x n: vectors run along n, as they do in shared memory. Addresses count vectors.
const uint B_VECTORS = TILE_N / VECTOR_WIDTH_B;  // in a step of the tile
VECTOR_B b_next[TILE_K * B_VECTORS / LOCAL_SIZE];

void fetch_tile_b(uint column0, uint k0) {
  [[unroll]] for (uint l = 0; l < TILE_K * B_VECTORS / LOCAL_SIZE; ++l) {
    const uint v = gl_LocalInvocationIndex + l * LOCAL_SIZE;
    const uint column =
        clamp_index(column0 / VECTOR_WIDTH_B + v % B_VECTORS, (n - 1) / VECTOR_WIDTH_B);
    const uint step = k0 + v / B_VECTORS;
    b_next[l] = keep_first(fetch_b(offset_b / VECTOR_WIDTH_B + column +
                             clamp_index(step, k - 1) * (ldb / VECTOR_WIDTH_B)),
                     steps_left(step) > 0 ? VECTOR_WIDTH_B : 0u);
  }
}

void put_tile_b(uint stage) {
  [[unroll]] for (uint l = 0; l < TILE_K * B_VECTORS / LOCAL_SIZE; ++l) {
    const uint v = gl_LocalInvocationIndex + l * LOCAL_SIZE;
    put_b(stage, v / B_VECTORS, v % B_VECTORS * VECTOR_WIDTH_B, b_next[l]);
  }
}
