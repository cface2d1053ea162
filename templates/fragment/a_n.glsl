// A is stored m x k: a vector holds steps of k of one row. Addresses count vectors.
uint a_row[REG_M];  // address of each row at first_step
VECTOR_A a_fragment[REG_M][UNROLL_K / VECTOR_WIDTH_A];

void begin_a(uint row) {
  [[unroll]] for (uint i = 0; i < REG_M; ++i)
    a_row[i] = (offset_a + clamp_index(row + i, m - 1) * lda + first_step) / VECTOR_WIDTH_A;
}

void load_a(uint k0) {
  [[unroll]] for (uint i = 0; i < REG_M; ++i)
    [[unroll]] for (uint v = 0; v < UNROLL_K / VECTOR_WIDTH_A; ++v)
      a_fragment[i][v] = fetch_a(a_row[i] + k0 / VECTOR_WIDTH_A + v);
}

// TAIL_K steps from k0 on; steps beyond k are zero.
void load_a_tail(uint k0) {
  const uint first = first_step / VECTOR_WIDTH_A;
  [[unroll]] for (uint v = 0; v < TAIL_K / VECTOR_WIDTH_A; ++v) {
    const uint step = first + k0 / VECTOR_WIDTH_A + v;
    const uint present = min(step, (k - 1) / VECTOR_WIDTH_A) - first;
    [[unroll]] for (uint i = 0; i < REG_M; ++i)
      a_fragment[i][v] =
          keep_first(fetch_a(a_row[i] + present), steps_left(step * VECTOR_WIDTH_A));
  }
}

ELEMENT a_at(uint i, uint u) {
  return component(a_fragment[i][u / VECTOR_WIDTH_A], u % VECTOR_WIDTH_A);
}
