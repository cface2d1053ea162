// A is stored k x m: a vector holds rows of op(A) at one step of k. Addresses count vectors.
uint a_column[REG_M / VECTOR_WIDTH_A];  // address of each vector of rows at first_step
uint a_stride, a_trip, a_walked;  // distance of steps and of trips; of the next trip from first_step
VECTOR_A a_fragment[UNROLL_K][REG_M / VECTOR_WIDTH_A];

void begin_a(uint row) {
  a_stride = lda / VECTOR_WIDTH_A;
  a_trip = LANES_K * UNROLL_K * a_stride;
  a_walked = 0;
  [[unroll]] for (uint v = 0; v < REG_M / VECTOR_WIDTH_A; ++v)
    a_column[v] = offset_a / VECTOR_WIDTH_A + first_step * a_stride +
                  clamp_index(row / VECTOR_WIDTH_A + v, (m - 1) / VECTOR_WIDTH_A);
}

void load_a(uint k0) {
  uint walked = a_walked;
  [[unroll]] for (uint u = 0; u < UNROLL_K; ++u) {
    [[unroll]] for (uint v = 0; v < REG_M / VECTOR_WIDTH_A; ++v)
      a_fragment[u][v] = fetch_a(a_column[v] + walked);
    walked += a_stride;
  }
  a_walked = LANES_K == 1 ? walked : a_walked + a_trip;
}

// TAIL_K steps from k0 on; steps beyond k are zero.
void load_a_tail(uint k0) {
  [[unroll]] for (uint u = 0; u < TAIL_K; ++u) {
    const uint step = first_step + k0 + u, walked = (min(step, k - 1) - first_step) * a_stride;
    [[unroll]] for (uint v = 0; v < REG_M / VECTOR_WIDTH_A; ++v)
      a_fragment[u][v] =
          keep_first(fetch_a(a_column[v] + walked), steps_left(step) > 0 ? VECTOR_WIDTH_A : 0u);
  }
}

ELEMENT a_at(uint i, uint u) {
  return component(a_fragment[u][i / VECTOR_WIDTH_A], i % VECTOR_WIDTH_A);
}
