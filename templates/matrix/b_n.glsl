// B is stored k x n: vectors run along n, in memory and in shared memory. Addresses count vectors.
#include "matrix/b_global.glsl"

const uint B_VECTORS = TILE_N / ELEMENTS_B;  // in a step of the tile
const uint B_STRIDE = (TILE_N + SHARED_PAD) / ELEMENTS_B;
const uint B_LOADS = TILE_K * B_VECTORS;
const uint B_LOADS_PER_INVOCATION = (B_LOADS + LOCAL_SIZE - 1) / LOCAL_SIZE;
shared VECTOR_B b_tile[STAGES][TILE_K * B_STRIDE];
VECTOR_B b_next[B_LOADS_PER_INVOCATION];

void fetch_tile_b(uint column0, uint k0) {
  [[unroll]] for (uint l = 0; l < B_LOADS_PER_INVOCATION; ++l) {
    const uint v = gl_LocalInvocationIndex + l * LOCAL_SIZE;
    if (B_LOADS % LOCAL_SIZE != 0 && v >= B_LOADS) break;
    const uint column = clamp_index(column0 / ELEMENTS_B + v % B_VECTORS, (n - 1) / ELEMENTS_B);
    const uint step = k0 + v / B_VECTORS;
    b_next[l] = keep_first(b[offset_b / ELEMENTS_B + column + clamp_index(step, k - 1) * (ldb / ELEMENTS_B)],
                     steps_left(step) > 0 ? ELEMENTS_B : 0u);
  }
}

void put_tile_b(uint stage) {
  [[unroll]] for (uint l = 0; l < B_LOADS_PER_INVOCATION; ++l) {
    const uint v = gl_LocalInvocationIndex + l * LOCAL_SIZE;
    if (B_LOADS % LOCAL_SIZE != 0 && v >= B_LOADS) break;
    b_tile[stage][v / B_VECTORS * B_STRIDE + v % B_VECTORS] = b_next[l];
  }
}

#define fragment_b(stage, step, column) \
  load_shared_b(b_tile[stage][(step) * B_STRIDE + (column) / ELEMENTS_B], BY_ROWS, B_STRIDE, \
                48, WORKGROUP_SCOPE)
