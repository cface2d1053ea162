// A is stored k x m: vectors run along m, as they do in shared memory. Addresses count vectors.
const uint A_VECTORS = TILE_M / VECTOR_WIDTH_A;  // in a step of the tile
const uint A_LOADS = TILE_K * A_VECTORS / LOCAL_SIZE;
VECTOR_A a_next[A_LOADS];
// Of each of this invocation's vectors: its address in the first tile along k, and where it goes.
uint a_address[A_LOADS], a_slot[A_LOADS], a_part[A_LOADS];
uint a_tile_stride, a_walked;  // distance of tiles along k, and of the next tile from the first

void begin_tile_a(uint row0) {
  [[unroll]] for (uint l = 0; l < A_LOADS; ++l) {
    const uvec2 v = load_position(l, A_VECTORS, TILE_K);
    a_address[l] = offset_a / VECTOR_WIDTH_A + v.y * (lda / VECTOR_WIDTH_A) +
                   clamp_index(row0 / VECTOR_WIDTH_A + v.x, (m - 1) / VECTOR_WIDTH_A);
    a_slot[l] = v.y * A_STEP + v.x * VECTOR_WIDTH_A / 4;
    a_part[l] = v.x * VECTOR_WIDTH_A % 4;
  }
  a_tile_stride = TILE_K * (lda / VECTOR_WIDTH_A);
  a_walked = 0;
}

void fetch_tile_a(uint k0) {
  [[unroll]] for (uint l = 0; l < A_LOADS; ++l) a_next[l] = fetch_a(a_address[l] + a_walked);
  a_walked += a_tile_stride;
}

void fetch_last_a(uint k0) {
  [[unroll]] for (uint l = 0; l < A_LOADS; ++l) {
    const uint y = load_position(l, A_VECTORS, TILE_K).y, present = clamp_index(k0 + y, k - 1);
    a_next[l] = keep_first(fetch_a(a_address[l] + (present - y) * (lda / VECTOR_WIDTH_A)),
                           steps_left(k0 + y) > 0 ? VECTOR_WIDTH_A : 0u);
  }
}

void put_tile_a(uint stage) {
  [[unroll]] for (uint l = 0; l < A_LOADS; ++l)
    put_a(a_slot[l] + stage, a_part[l], a_next[l]);
}
