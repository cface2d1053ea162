// A is packed by pack.comp: panels of TILE_M rows, each [k / UNROLL_K][TILE_M][UNROLL_K], padded
// with zeros. The lanes of a subgroup share the vectors of a group of UNROLL_K steps: lane l holds
// the vectors l, l + SUBGROUP_SIZE, and so on. Addresses count vectors.
uint a_panel;
ELEMENT_4 a_own[REG_M * UNROLL_K / 4 / SUBGROUP_SIZE];

void begin_a(uint row) {
  const uint padded_k = (depth + UNROLL_K - 1) / UNROLL_K * UNROLL_K;
  a_panel = (offset_a + row / TILE_M * (TILE_M * padded_k)) / 4 + gl_SubgroupInvocationID;
}

void load_a(uint k0) {
  [[unroll]] for (uint v = 0; v < REG_M * UNROLL_K / 4 / SUBGROUP_SIZE; ++v)
    a_own[v] = fetch_a(a_panel + k0 * TILE_M / 4 + v * SUBGROUP_SIZE);
}

// The tail is a whole group here: the padding is zero.
void load_a_tail(uint k0) { load_a(k0); }
