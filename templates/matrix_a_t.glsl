// A stored k x m: vectors run along m, in shared memory as well. Addresses in vectors.
#include "matrix_a_global.glsl"

const uint A_VECTORS = TILE_M / PER_A;  // in a step of the tile
const uint A_STRIDE = (TILE_M + SHARED_PAD) / PER_A;
const uint A_LOADS = TILE_K * A_VECTORS;
const uint A_TURNS = (A_LOADS + LOCAL_SIZE - 1) / LOCAL_SIZE;
shared VECTOR_A a_tile[STAGES][TILE_K * A_STRIDE];
VECTOR_A a_next[A_TURNS];

void fetch_tile_a(uint row0, uint k0) {
  [[unroll]] for (uint l = 0; l < A_TURNS; ++l) {
    const uint v = gl_LocalInvocationIndex + l * LOCAL_SIZE;
    if (A_LOADS % LOCAL_SIZE != 0 && v >= A_LOADS) break;
    const uint row = clamp_index(row0 / PER_A + v % A_VECTORS, (m - 1) / PER_A);
    const uint step = k0 + v / A_VECTORS;
    a_next[l] = keep(a[offset_a / PER_A + row + clamp_index(step, k - 1) * (lda / PER_A)],
                     steps_left(step) > 0 ? PER_A : 0u);
  }
}

void put_tile_a(uint stage) {
  [[unroll]] for (uint l = 0; l < A_TURNS; ++l) {
    const uint v = gl_LocalInvocationIndex + l * LOCAL_SIZE;
    if (A_LOADS % LOCAL_SIZE != 0 && v >= A_LOADS) break;
    a_tile[stage][v / A_VECTORS * A_STRIDE + v % A_VECTORS] = a_next[l];
  }
}

#define fragment_a(stage, row, step) \
  load_shared_a(a_tile[stage][(step) * A_STRIDE + (row) / PER_A], BY_COLUMNS, A_STRIDE, 48, WORKGROUP_SCOPE)
