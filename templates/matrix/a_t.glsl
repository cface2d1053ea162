// A is stored k x m: vectors run along m, in memory and in shared memory. Addresses count vectors.
#include "matrix/a_global.glsl"

const uint A_VECTORS = TILE_M / ELEMENTS_A;  // in a step of the tile
const uint A_STRIDE = (TILE_M + SHARED_PAD) / ELEMENTS_A;
const uint A_LOADS = TILE_K * A_VECTORS;
const uint A_LOADS_PER_INVOCATION = (A_LOADS + LOCAL_SIZE - 1) / LOCAL_SIZE;
shared VECTOR_A a_tile[STAGES][TILE_K * A_STRIDE];
VECTOR_A a_next[A_LOADS_PER_INVOCATION];

void fetch_tile_a(uint row0, uint k0) {
  [[unroll]] for (uint l = 0; l < A_LOADS_PER_INVOCATION; ++l) {
    const uint v = gl_LocalInvocationIndex + l * LOCAL_SIZE;
    if (A_LOADS % LOCAL_SIZE != 0 && v >= A_LOADS) break;
    const uint row = clamp_index(row0 / ELEMENTS_A + v % A_VECTORS, (m - 1) / ELEMENTS_A);
    const uint step = k0 + v / A_VECTORS;
    a_next[l] = keep_first(a[offset_a / ELEMENTS_A + row + clamp_index(step, k - 1) * (lda / ELEMENTS_A)],
                     steps_left(step) > 0 ? ELEMENTS_A : 0u);
  }
}

void put_tile_a(uint stage) {
  [[unroll]] for (uint l = 0; l < A_LOADS_PER_INVOCATION; ++l) {
    const uint v = gl_LocalInvocationIndex + l * LOCAL_SIZE;
    if (A_LOADS % LOCAL_SIZE != 0 && v >= A_LOADS) break;
    a_tile[stage][v / A_VECTORS * A_STRIDE + v % A_VECTORS] = a_next[l];
  }
}

#define fragment_a(stage, row, step) \
  load_shared_a(a_tile[stage][(step) * A_STRIDE + (row) / ELEMENTS_A], BY_COLUMNS, A_STRIDE, \
                48, WORKGROUP_SCOPE)
