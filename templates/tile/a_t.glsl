// A is stored k x m: vectors run along m, as they do in shared memory. Addresses count vectors.
const uint A_VECTORS = TILE_M / VECTOR_WIDTH_A;  // in a step of the tile
VECTOR_A a_next[TILE_K * A_VECTORS / LOCAL_SIZE];

void fetch_tile_a(uint row0, uint k0) {
  [[unroll]] for (uint l = 0; l < TILE_K * A_VECTORS / LOCAL_SIZE; ++l) {
    const uint v = gl_LocalInvocationIndex + l * LOCAL_SIZE;
    const uint row = clamp_index(row0 / VECTOR_WIDTH_A + v % A_VECTORS, (m - 1) / VECTOR_WIDTH_A);
    const uint step = k0 + v / A_VECTORS;
    a_next[l] = keep_first(fetch_a(offset_a / VECTOR_WIDTH_A + row +
                             clamp_index(step, k - 1) * (lda / VECTOR_WIDTH_A)),
                     steps_left(step) > 0 ? VECTOR_WIDTH_A : 0u);
  }
}

void put_tile_a(uint stage) {
  [[unroll]] for (uint l = 0; l < TILE_K * A_VECTORS / LOCAL_SIZE; ++l) {
    const uint v = gl_LocalInvocationIndex + l * LOCAL_SIZE;
    put_a(stage, v / A_VECTORS, v % A_VECTORS * VECTOR_WIDTH_A, a_next[l]);
  }
}
