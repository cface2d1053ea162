// B is stored k x n: vectors run along n, as they do in shared memory. Addresses count vectors.
const uint B_VECTORS = TILE_N / VECTOR_WIDTH_B;  // in a step of the tile
const uint B_LOADS = TILE_K * B_VECTORS / LOCAL_SIZE;
VECTOR_B b_next[B_LOADS];
// Of each of this invocation's vectors: its address in the first tile along k, and where it goes.
uint b_address[B_LOADS], b_slot[B_LOADS], b_part[B_LOADS];
uint b_tile_stride, b_walked;  // distance of tiles along k, and of the next tile from the first

void begin_tile_b(uint column0) {
  [[unroll]] for (uint l = 0; l < B_LOADS; ++l) {
    const uvec2 v = load_position(l, B_VECTORS, TILE_K);
    b_address[l] = offset_b / VECTOR_WIDTH_B + v.y * (ldb / VECTOR_WIDTH_B) +
                   clamp_index(column0 / VECTOR_WIDTH_B + v.x, (n - 1) / VECTOR_WIDTH_B);
    b_slot[l] = v.y * B_STEP + v.x * VECTOR_WIDTH_B / 4;
    b_part[l] = v.x * VECTOR_WIDTH_B % 4;
  }
  b_tile_stride = TILE_K * (ldb / VECTOR_WIDTH_B);
  b_walked = 0;
}

void fetch_tile_b(uint k0) {
  [[unroll]] for (uint l = 0; l < B_LOADS; ++l) b_next[l] = fetch_b(b_address[l] + b_walked);
  b_walked += b_tile_stride;
}

void fetch_last_b(uint k0) {
  [[unroll]] for (uint l = 0; l < B_LOADS; ++l) {
    const uint y = load_position(l, B_VECTORS, TILE_K).y, present = clamp_index(k0 + y, k - 1);
    b_next[l] = keep_first(fetch_b(b_address[l] + (present - y) * (ldb / VECTOR_WIDTH_B)),
                           steps_left(k0 + y) > 0 ? VECTOR_WIDTH_B : 0u);
  }
}

void put_tile_b(uint stage) {
  [[unroll]] for (uint l = 0; l < B_LOADS; ++l)
    put_b(b_slot[l] + stage, b_part[l], b_next[l]);
}
