// B is packed by pack.comp: panels of TILE_N columns, each [k][TILE_N], padded with zeros.
// Addresses count vectors.
uint b_panel;
VECTOR_B b_fragment[UNROLL_K][REG_N / VECTOR_WIDTH_B];

void begin_b(uint column) {
  const uint padded_k = (depth + UNROLL_K - 1) / UNROLL_K * UNROLL_K;
  b_panel = (offset_b + column / TILE_N * (TILE_N * padded_k) + column % TILE_N) / VECTOR_WIDTH_B;
}

void load_b(uint k0) {
  [[unroll]] for (uint u = 0; u < UNROLL_K; ++u)
    [[unroll]] for (uint j = 0; j < REG_N / VECTOR_WIDTH_B; ++j)
      b_fragment[u][j] =
          fetch_b(b_panel + k0 * (TILE_N / VECTOR_WIDTH_B) +
                  (u * (TILE_N / VECTOR_WIDTH_B) + column_offset(j) / VECTOR_WIDTH_B));
}

// TAIL_K steps from k0 on. The padding is zero.
void load_b_tail(uint k0) {
  [[unroll]] for (uint u = 0; u < TAIL_K; ++u)
    [[unroll]] for (uint j = 0; j < REG_N / VECTOR_WIDTH_B; ++j)
      b_fragment[u][j] =
          fetch_b(b_panel + k0 * (TILE_N / VECTOR_WIDTH_B) +
                  (u * (TILE_N / VECTOR_WIDTH_B) + column_offset(j) / VECTOR_WIDTH_B));
}

VECTOR_C b_at(uint u, uint j) { return b_fragment[u][j]; }
