// B is stored k x n: a vector holds neighbouring columns at one step of k, like a vector of C.
// Addresses count vectors.
uint b_column[REG_N / VECTOR_WIDTH_B];
VECTOR_B b_fragment[UNROLL_K][REG_N / VECTOR_WIDTH_B];

void begin_b(uint column) {
  [[unroll]] for (uint j = 0; j < REG_N / VECTOR_WIDTH_B; ++j)
    b_column[j] = offset_b / VECTOR_WIDTH_B +
                  clamp_index((column + column_offset(j)) / VECTOR_WIDTH_B, (n - 1) / VECTOR_WIDTH_B);
}

void load_b(uint k0) {
  [[unroll]] for (uint u = 0; u < UNROLL_K; ++u)
    [[unroll]] for (uint j = 0; j < REG_N / VECTOR_WIDTH_B; ++j)
      b_fragment[u][j] = fetch_b(b_column[j] + (k0 + u) * (ldb / VECTOR_WIDTH_B));
}

// TAIL_K steps from k0 on; steps beyond k are zero.
void load_b_tail(uint k0) {
  [[unroll]] for (uint u = 0; u < TAIL_K; ++u)
    [[unroll]] for (uint j = 0; j < REG_N / VECTOR_WIDTH_B; ++j)
      b_fragment[u][j] =
          keep_first(fetch_b(b_column[j] + min(k0 + u, k - 1) * (ldb / VECTOR_WIDTH_B)),
               steps_left(k0 + u) > 0 ? VECTOR_WIDTH_B : 0u);
}

VECTOR_C b_at(uint u, uint j) { return b_fragment[u][j]; }
