//: A in shared memory (vector kernels of stage stored): A is stored m x k, and all invocations of a
//: workgroup take the same rows. Each fetches vectors beside those of its neighbours, and the next
//: trip's before this one's are multiplied. UNROLL_K steps of a row lie together, as an odd number
//: of vectors, so that the lanes along k read different banks. load_a() and a_at() are as in
//: fragment/a.glsl.
const uint A_RUN = UNROLL_K / VECTOR_WIDTH_A, A_STRIDE = A_RUN | 1;
const uint A_VECTORS = TILE_K / VECTOR_WIDTH_A;  // of a row in a trip
const uint A_LOADS = (REG_M * A_VECTORS + LOCAL_SIZE - 1) / LOCAL_SIZE;  // of an invocation
shared VECTOR_A a_tile[REG_M * LANES_K * A_STRIDE];

uint a_address[A_LOADS];  // of what the invocation loads, in elements at the first step
VECTOR_A a_next[A_LOADS];
uint a_place;  // in a row of the tile: the invocation's first vector in this trip

// The invocation's l-th load, if it has so many.
uint a_load(uint l) { return gl_LocalInvocationIndex + l * LOCAL_SIZE; }
bool has_load(uint l) {
  return REG_M * A_VECTORS % LOCAL_SIZE == 0 || a_load(l) < REG_M * A_VECTORS;
}

void begin_a(uint row) {
  [[unroll]] for (uint l = 0; l < A_LOADS; ++l)
    a_address[l] = offset_a + clamp_index(row + a_load(l) / A_VECTORS, m - 1) * lda;
}

// Loads the trip at k0; steps beyond k are zero.
void fetch_tile_a(uint k0) {
  [[unroll]] for (uint l = 0; l < A_LOADS; ++l)
    if (has_load(l)) {
      const uint step = k0 + a_load(l) % A_VECTORS * VECTOR_WIDTH_A,
                 present = min(step, (k - 1) / VECTOR_WIDTH_A * VECTOR_WIDTH_A);
      a_next[l] = keep_first(fetch_a((a_address[l] + present) / VECTOR_WIDTH_A), steps_left(step));
    }
}

void put_tile_a() {
  barrier();
  [[unroll]] for (uint l = 0; l < A_LOADS; ++l)
    if (has_load(l)) a_tile[a_load(l) / A_RUN * A_STRIDE + a_load(l) % A_RUN] = a_next[l];
  barrier();
}

void load_a(uint k0) { a_place = lane_k * A_STRIDE; }
void load_a_tail(uint k0) { a_place = lane_k * A_STRIDE + k0 % TILE_K / VECTOR_WIDTH_A; }

ELEMENT a_at(uint i, uint u) {
  const VECTOR_A x = a_tile[i * LANES_K * A_STRIDE + a_place + u / VECTOR_WIDTH_A];
  return component(x, u % VECTOR_WIDTH_A);
}
