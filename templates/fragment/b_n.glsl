// B is stored k x n: a vector holds neighbouring columns at one step of k, like a vector of C.
// Addresses count vectors.
uint b_column[REG_N / VECTOR_WIDTH_B];  // address of each vector of columns at first_step
uint b_stride, b_trip, b_walked;  // distance of steps and of trips; of the next trip from first_step
VECTOR_B b_fragment[UNROLL_K][REG_N / VECTOR_WIDTH_B];

void begin_b(uint column) {
  b_stride = ldb / VECTOR_WIDTH_B;
  b_trip = LANES_K * UNROLL_K * b_stride;
  b_walked = 0;
  [[unroll]] for (uint j = 0; j < REG_N / VECTOR_WIDTH_B; ++j)
    b_column[j] = offset_b / VECTOR_WIDTH_B + first_step * b_stride +
                  clamp_index((column + column_offset(j)) / VECTOR_WIDTH_B, (n - 1) / VECTOR_WIDTH_B);
}

void load_b(uint k0) {
  uint walked = b_walked;
  [[unroll]] for (uint u = 0; u < UNROLL_K; ++u) {
    [[unroll]] for (uint j = 0; j < REG_N / VECTOR_WIDTH_B; ++j)
      b_fragment[u][j] = fetch_b(b_column[j] + walked);
    walked += b_stride;
  }
  b_walked = LANES_K == 1 ? walked : b_walked + b_trip;
}

// TAIL_K steps from k0 on; steps beyond k are zero.
void load_b_tail(uint k0) {
  [[unroll]] for (uint u = 0; u < TAIL_K; ++u) {
    const uint step = first_step + k0 + u, walked = (min(step, k - 1) - first_step) * b_stride;
    [[unroll]] for (uint j = 0; j < REG_N / VECTOR_WIDTH_B; ++j)
      b_fragment[u][j] =
          keep_first(fetch_b(b_column[j] + walked), steps_left(step) > 0 ? VECTOR_WIDTH_B : 0u);
  }
}

VECTOR_C b_at(uint u, uint j) { return b_fragment[u][j]; }
