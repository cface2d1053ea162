// A is stored m x k: vectors run along k and are transposed as they are written to shared memory.
// Addresses count vectors.
const uint A_VECTORS = TILE_K / VECTOR_WIDTH_A;  // in a row of the tile
// Vectors of a line that neighbouring invocations load: with two, the transposing stores of 32
// invocations go to 32 banks (tests/generator/bank_conflicts_test.cpp).
const uint A_RUN = VECTOR_WIDTH_A == 4 && A_VECTORS % 2 == 0 ? 2 : A_VECTORS;
const uint A_LOADS = TILE_M * A_VECTORS / LOCAL_SIZE;
VECTOR_A a_next[A_LOADS];
// Of each of this invocation's vectors: its address in the first tile along k, and where its first
// element goes.
uint a_address[A_LOADS], a_slot[A_LOADS], a_part[A_LOADS];

void begin_tile_a(uint row0) {
  [[unroll]] for (uint l = 0; l < A_LOADS; ++l) {
    const uvec2 v = load_position(l, A_RUN, TILE_M);
    a_address[l] = (offset_a + clamp_index(row0 + v.y, m - 1) * lda) / VECTOR_WIDTH_A + v.x;
    a_slot[l] = v.x * VECTOR_WIDTH_A * A_STEP + v.y / 4;
    a_part[l] = v.y % 4;
  }
}

void fetch_tile_a(uint k0) {
  [[unroll]] for (uint l = 0; l < A_LOADS; ++l)
    a_next[l] = fetch_a(a_address[l] + k0 / VECTOR_WIDTH_A);
}

void fetch_last_a(uint k0) {
  [[unroll]] for (uint l = 0; l < A_LOADS; ++l) {
    const uint x = load_position(l, A_RUN, TILE_M).x, step = k0 / VECTOR_WIDTH_A + x;
    const uint present = clamp_index(step, (k - 1) / VECTOR_WIDTH_A);
    a_next[l] = keep_first(fetch_a(a_address[l] - x + present), steps_left(step * VECTOR_WIDTH_A));
  }
}

void put_tile_a(uint stage) {
  [[unroll]] for (uint l = 0; l < A_LOADS; ++l)
    [[unroll]] for (uint w = 0; w < VECTOR_WIDTH_A; ++w)
      put_a(a_slot[l] + stage + w * A_STEP, a_part[l], component(a_next[l], w));
}
