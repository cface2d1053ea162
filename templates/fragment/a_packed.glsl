// A is packed by pack.comp: panels of TILE_M rows, each [k / UNROLL_K][TILE_M][UNROLL_K], padded
// with zeros. Addresses count vectors.
uint a_panel;
VECTOR_A a_fragment[REG_M][UNROLL_K / VECTOR_WIDTH_A];

void begin_a(uint row) {
  const uint padded_k = (depth + UNROLL_K - 1) / UNROLL_K * UNROLL_K;
  a_panel = (offset_a + row / TILE_M * (TILE_M * padded_k) + row % TILE_M * UNROLL_K) /
            VECTOR_WIDTH_A;
}

void load_a(uint k0) {
  [[unroll]] for (uint i = 0; i < REG_M; ++i)
    [[unroll]] for (uint v = 0; v < UNROLL_K / VECTOR_WIDTH_A; ++v)
      a_fragment[i][v] = fetch_a(a_panel + k0 * TILE_M / VECTOR_WIDTH_A +
                                 (i * (UNROLL_K / VECTOR_WIDTH_A) + v));
}

// TAIL_K steps from k0 on, which may begin inside a group of UNROLL_K. The padding is zero.
void load_a_tail(uint k0) {
  const uint group = k0 / UNROLL_K * UNROLL_K;
  [[unroll]] for (uint i = 0; i < REG_M; ++i)
    [[unroll]] for (uint v = 0; v < TAIL_K / VECTOR_WIDTH_A; ++v)
      a_fragment[i][v] = fetch_a(a_panel + (group * TILE_M + (k0 - group)) / VECTOR_WIDTH_A +
                                 (i * (UNROLL_K / VECTOR_WIDTH_A) + v));
}

ELEMENT a_at(uint i, uint u) {
  return component(a_fragment[i][u / VECTOR_WIDTH_A], u % VECTOR_WIDTH_A);
}
