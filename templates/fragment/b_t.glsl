// B is stored n x k: a vector holds steps of k of one column of op(B), and VECTOR_C is ELEMENT.
// Addresses count vectors.
uint b_row[REG_N];  // address of each row of B as stored at first_step
VECTOR_B b_fragment[REG_N][UNROLL_K / VECTOR_WIDTH_B];

void begin_b(uint column) {
  [[unroll]] for (uint j = 0; j < REG_N; ++j)
    b_row[j] = (offset_b + clamp_index(column + column_offset(j), n - 1) * ldb + first_step) /
               VECTOR_WIDTH_B;
}

void load_b(uint k0) {
  [[unroll]] for (uint j = 0; j < REG_N; ++j)
    [[unroll]] for (uint v = 0; v < UNROLL_K / VECTOR_WIDTH_B; ++v)
      b_fragment[j][v] = fetch_b(b_row[j] + k0 / VECTOR_WIDTH_B + v);
}

// TAIL_K steps from k0 on; steps beyond k are zero.
void load_b_tail(uint k0) {
  const uint first = first_step / VECTOR_WIDTH_B;
  [[unroll]] for (uint v = 0; v < TAIL_K / VECTOR_WIDTH_B; ++v) {
    const uint step = first + k0 / VECTOR_WIDTH_B + v;
    const uint present = min(step, (k - 1) / VECTOR_WIDTH_B) - first;
    [[unroll]] for (uint j = 0; j < REG_N; ++j)
      b_fragment[j][v] =
          keep_first(fetch_b(b_row[j] + present), steps_left(step * VECTOR_WIDTH_B));
  }
}

VECTOR_C b_at(uint u, uint j) {
  return component(b_fragment[j][u / VECTOR_WIDTH_B], u % VECTOR_WIDTH_B);
}
