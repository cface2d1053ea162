//: A in shared memory (vector kernels of stage stored): A is stored m x k, and all invocations of a
//: workgroup take the same rows. Each fetches vectors beside those of its neighbours, and the next
//: trip's before this one's are multiplied. UNROLL_K steps of a row lie together, as an odd number
//: of vectors, so that the lanes along k read different banks. load_a() and a_at() are as in
//: fragment/a.glsl. Depends on:
//:   MULTIPLIES_INT8  whether A is rounded to 8-bit integers, whose words a_word() returns instead of a_at();
//:                    each ROUNDED_STEPS steps of a row have a scale of their own
#if MULTIPLIES_INT8
const uint A_RUN = UNROLL_K / VECTOR_WIDTH_A, A_STRIDE = UNROLL_K / 16 | 1;
#else
const uint A_RUN = UNROLL_K / VECTOR_WIDTH_A, A_STRIDE = A_RUN | 1;
#endif
const uint A_VECTORS = TILE_K / VECTOR_WIDTH_A;  // of a row in a trip
const uint A_LOADS = (REG_M * A_VECTORS + LOCAL_SIZE - 1) / LOCAL_SIZE;  // of an invocation
#if MULTIPLIES_INT8
const uint VECTORS_PER_SCALE = ROUNDED_STEPS / 4;
shared ivec4 a_tile[REG_M * LANES_K * A_STRIDE];  // each element is a word of four integers
shared float a_scales[REG_M * A_VECTORS / VECTORS_PER_SCALE];
shared uint a_largest[REG_M * A_VECTORS];  // the bits of the largest magnitude of each vector
#else
shared VECTOR_A a_tile[REG_M * LANES_K * A_STRIDE];
#endif

uint a_address[A_LOADS];  // of what the invocation loads, in elements at the first step
VECTOR_A a_next[A_LOADS];
#if MULTIPLIES_INT8
uint a_first_word;  // the first word of the invocation's steps that is multiplied now
#else
uint a_place;  // in a row of the tile: the invocation's first vector in this trip
#endif

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

#if !MULTIPLIES_INT8
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
#else
// a_largest is read before the second barrier only, and the tile before the next trip's first one
// only.
void put_tile_a() {
  [[unroll]] for (uint l = 0; l < A_LOADS; ++l)
    if (has_load(l)) a_largest[a_load(l)] = largest_magnitude(a_next[l]);
  barrier();
  [[unroll]] for (uint l = 0; l < A_LOADS; ++l)
    if (has_load(l)) {
      const uint vector = a_load(l), scale_index = vector / VECTORS_PER_SCALE;
      uint largest = 0;
      [[unroll]] for (uint v = 0; v < VECTORS_PER_SCALE; ++v)
        largest = max(largest, a_largest[scale_index * VECTORS_PER_SCALE + v]);
      a_tile[vector / A_RUN * A_STRIDE + vector % A_RUN / 4][vector % 4] =
          rounded(a_next[l], largest);
      if (vector % VECTORS_PER_SCALE == 0) a_scales[scale_index] = scale_of(largest);
    }
  barrier();
}

void load_a(uint k0) { a_first_word = 0; }
void load_a_tail(uint k0) { a_first_word = k0 % TILE_K / 4; }

// The w-th word of the invocation's steps of a row, and the x-th scale.
int a_word(uint i, uint w) {
  const uint word = a_first_word + w;
  return a_tile[(i * LANES_K + lane_k) * A_STRIDE + word / 4][word % 4];
}
float a_scale(uint i, uint x) {
  return a_scales[(i * LANES_K + lane_k) * (UNROLL_K / ROUNDED_STEPS) +
                  a_first_word / VECTORS_PER_SCALE + x];
}
#endif
