// B is stored n x k: vectors run along k and are transposed as they are written to shared memory.
// Addresses count vectors.
const uint B_VECTORS = TILE_K / VECTOR_WIDTH_B;  // in a column of the tile
// Vectors of a line that neighbouring invocations load: with two, the transposing stores of 32
// invocations go to 32 banks (tests/generator/bank_conflicts_test.cpp).
const uint B_RUN = VECTOR_WIDTH_B == 4 && B_VECTORS % 2 == 0 ? 2 : B_VECTORS;
const uint B_LOADS = TILE_N * B_VECTORS / LOCAL_SIZE;
VECTOR_B b_next[B_LOADS];
// Of each of this invocation's vectors: its address in the first tile along k, and where its first
// element goes.
uint b_address[B_LOADS], b_slot[B_LOADS], b_part[B_LOADS];

void begin_tile_b(uint column0) {
  [[unroll]] for (uint l = 0; l < B_LOADS; ++l) {
    const uvec2 v = load_position(l, B_RUN, TILE_N);
    b_address[l] = (offset_b + clamp_index(column0 + v.y, n - 1) * ldb) / VECTOR_WIDTH_B + v.x;
    b_slot[l] = v.x * VECTOR_WIDTH_B * B_STEP + v.y / 4;
    b_part[l] = v.y % 4;
  }
}

void fetch_tile_b(uint k0) {
  [[unroll]] for (uint l = 0; l < B_LOADS; ++l)
    b_next[l] = fetch_b(b_address[l] + k0 / VECTOR_WIDTH_B);
}

void fetch_last_b(uint k0) {
  [[unroll]] for (uint l = 0; l < B_LOADS; ++l) {
    const uint x = load_position(l, B_RUN, TILE_N).x, step = k0 / VECTOR_WIDTH_B + x;
    const uint present = clamp_index(step, (k - 1) / VECTOR_WIDTH_B);
    b_next[l] = keep_first(fetch_b(b_address[l] - x + present), steps_left(step * VECTOR_WIDTH_B));
  }
}

void put_tile_b(uint stage) {
  [[unroll]] for (uint l = 0; l < B_LOADS; ++l)
    [[unroll]] for (uint w = 0; w < VECTOR_WIDTH_B; ++w)
      put_b(b_slot[l] + stage + w * B_STEP, b_part[l], component(b_next[l], w));
}
