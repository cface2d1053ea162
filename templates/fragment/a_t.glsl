// A is stored k x m: a vector holds rows of op(A) at one step of k. Addresses count vectors.
uint a_column[REG_M / VECTOR_WIDTH_A];
VECTOR_A a_fragment[UNROLL_K][REG_M / VECTOR_WIDTH_A];

void begin_a(uint row) {
  [[unroll]] for (uint v = 0; v < REG_M / VECTOR_WIDTH_A; ++v)
    a_column[v] = offset_a / VECTOR_WIDTH_A +
                  clamp_index(row / VECTOR_WIDTH_A + v, (m - 1) / VECTOR_WIDTH_A);
}

void load_a(uint k0) {
  [[unroll]] for (uint u = 0; u < UNROLL_K; ++u)
    [[unroll]] for (uint v = 0; v < REG_M / VECTOR_WIDTH_A; ++v)
      a_fragment[u][v] = fetch_a(a_column[v] + (k0 + u) * (lda / VECTOR_WIDTH_A));
}

// TAIL_K steps from k0 on; steps beyond k are zero.
void load_a_tail(uint k0) {
  [[unroll]] for (uint u = 0; u < TAIL_K; ++u)
    [[unroll]] for (uint v = 0; v < REG_M / VECTOR_WIDTH_A; ++v)
      a_fragment[u][v] =
          keep_first(fetch_a(a_column[v] + min(k0 + u, k - 1) * (lda / VECTOR_WIDTH_A)),
               steps_left(k0 + u) > 0 ? VECTOR_WIDTH_A : 0u);
}

ELEMENT a_at(uint i, uint u) {
  return component(a_fragment[u][i / VECTOR_WIDTH_A], i % VECTOR_WIDTH_A);
}
