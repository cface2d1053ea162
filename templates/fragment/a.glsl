//: A in registers. begin_a() computes once where the invocation's rows lie at first_step, its first step of k,
//: which is not 0 where invocations divide k (vector.comp). load_a() takes UNROLL_K steps from k0 on, counted
//: from first_step, load_a_tail() TAIL_K steps at the end of k, and a_at() is one element. Addresses count
//: vectors. Depends on:
//:   ALONG_K_A  whether A is stored m x k, else k x m
//:   PACKED_A   whether pack.comp has packed it
//:   STAGE      whether the lanes of a subgroup share the fragment
#if PACKED_A == NO && ALONG_K_A
// A vector holds steps of k of one row.
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

// Steps beyond k are zero.
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
#elif PACKED_A == NO
// A vector holds rows of op(A) at one step of k.
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

// Steps beyond k are zero.
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
#elif STAGE != SUBGROUP
// Panels of TILE_M rows, each [k / UNROLL_K][TILE_M][UNROLL_K], padded with zeros.
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

// k0 may lie inside a group of UNROLL_K steps. The padding is zero.
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
#else
// The same panels. The lanes of a subgroup share the vectors of a group of UNROLL_K steps: lane l
// holds the vectors l, l + SUBGROUP_SIZE, and so on.
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
#endif
