// B stored k x n: vectors run along n, in shared memory as well. Addresses in vectors.
#include "matrix_b_global.glsl"

const uint B_VECTORS = TILE_N / PER_B;  // in a step of the tile
const uint B_STRIDE = (TILE_N + SHARED_PAD) / PER_B;
const uint B_LOADS = TILE_K * B_VECTORS;
const uint B_TURNS = (B_LOADS + LOCAL_SIZE - 1) / LOCAL_SIZE;
shared VECTOR_B b_tile[STAGES][TILE_K * B_STRIDE];
VECTOR_B b_next[B_TURNS];

void fetch_tile_b(uint column0, uint k0) {
  [[unroll]] for (uint l = 0; l < B_TURNS; ++l) {
    const uint v = gl_LocalInvocationIndex + l * LOCAL_SIZE;
    if (B_LOADS % LOCAL_SIZE != 0 && v >= B_LOADS) break;
    const uint column = clamp_index(column0 / PER_B + v % B_VECTORS, (n - 1) / PER_B);
    const uint step = k0 + v / B_VECTORS;
    b_next[l] = keep(b[offset_b / PER_B + column + clamp_index(step, k - 1) * (ldb / PER_B)],
                     steps_left(step) > 0 ? PER_B : 0u);
  }
}

void put_tile_b(uint stage) {
  [[unroll]] for (uint l = 0; l < B_TURNS; ++l) {
    const uint v = gl_LocalInvocationIndex + l * LOCAL_SIZE;
    if (B_LOADS % LOCAL_SIZE != 0 && v >= B_LOADS) break;
    b_tile[stage][v / B_VECTORS * B_STRIDE + v % B_VECTORS] = b_next[l];
  }
}

#define fragment_b(stage, step, column) \
  load_shared_b(b_tile[stage][(step) * B_STRIDE + (column) / PER_B], BY_ROWS, B_STRIDE, 48, WORKGROUP_SCOPE)
