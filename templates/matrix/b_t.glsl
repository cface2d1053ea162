// B is stored n x k: vectors run along k, in memory and in shared memory. Addresses count vectors.
#include "matrix/b_global.glsl"

const uint B_VECTORS = TILE_K / ELEMENTS_B;  // in a column of the tile
const uint B_STRIDE = (TILE_K + SHARED_PAD) / ELEMENTS_B;
const uint B_LOADS = TILE_N * B_VECTORS;
const uint B_LOADS_PER_INVOCATION = (B_LOADS + LOCAL_SIZE - 1) / LOCAL_SIZE;
shared VECTOR_B b_tile[STAGES][TILE_N * B_STRIDE];
VECTOR_B b_next[B_LOADS_PER_INVOCATION];

void fetch_tile_b(uint column0, uint k0) {
  [[unroll]] for (uint l = 0; l < B_LOADS_PER_INVOCATION; ++l) {
    const uint v = gl_LocalInvocationIndex + l * LOCAL_SIZE;
    if (B_LOADS % LOCAL_SIZE != 0 && v >= B_LOADS) break;
    const uint column = clamp_index(column0 + v / B_VECTORS, n - 1);
    const uint step = k0 / ELEMENTS_B + v % B_VECTORS;
    b_next[l] = keep_first(b[(offset_b + column * ldb) / ELEMENTS_B + clamp_index(step, (k - 1) / ELEMENTS_B)],
                     steps_left(step * ELEMENTS_B));
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
  load_shared_b(b_tile[stage][(column) * B_STRIDE + (step) / ELEMENTS_B], BY_COLUMNS, B_STRIDE, \
                48, WORKGROUP_SCOPE)
