// A is stored m x k: vectors run along k, in memory and in shared memory. Addresses count vectors.
#include "matrix/a_global.glsl"

const uint A_VECTORS = TILE_K / ELEMENTS_A;  // in a row of the tile
const uint A_STRIDE = (TILE_K + SHARED_PAD) / ELEMENTS_A;
const uint A_LOADS = TILE_M * A_VECTORS;
const uint A_LOADS_PER_INVOCATION = (A_LOADS + LOCAL_SIZE - 1) / LOCAL_SIZE;
shared VECTOR_A a_tile[STAGES][TILE_M * A_STRIDE];
VECTOR_A a_next[A_LOADS_PER_INVOCATION];

void fetch_tile_a(uint row0, uint k0) {
  [[unroll]] for (uint l = 0; l < A_LOADS_PER_INVOCATION; ++l) {
    const uint v = gl_LocalInvocationIndex + l * LOCAL_SIZE;
    if (A_LOADS % LOCAL_SIZE != 0 && v >= A_LOADS) break;
    const uint row = clamp_index(row0 + v / A_VECTORS, m - 1);
    const uint step = k0 / ELEMENTS_A + v % A_VECTORS;
    a_next[l] = keep_first(a[(offset_a + row * lda) / ELEMENTS_A + clamp_index(step, (k - 1) / ELEMENTS_A)],
                     steps_left(step * ELEMENTS_A));
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
  load_shared_a(a_tile[stage][(row) * A_STRIDE + (step) / ELEMENTS_A], BY_ROWS, A_STRIDE, \
                48, WORKGROUP_SCOPE)
