// A stored m x k: vectors run along k, in shared memory as well. Addresses in vectors.
#include "matrix_a_global.glsl"

const uint A_VECTORS = TILE_K / PER_A;  // in a row of the tile
const uint A_STRIDE = (TILE_K + SHARED_PAD) / PER_A;
const uint A_LOADS = TILE_M * A_VECTORS;
const uint A_TURNS = (A_LOADS + LOCAL_SIZE - 1) / LOCAL_SIZE;
shared VECTOR_A a_tile[STAGES][TILE_M * A_STRIDE];
VECTOR_A a_next[A_TURNS];

void fetch_tile_a(uint row0, uint k0) {
  [[unroll]] for (uint l = 0; l < A_TURNS; ++l) {
    const uint v = gl_LocalInvocationIndex + l * LOCAL_SIZE;
    if (A_LOADS % LOCAL_SIZE != 0 && v >= A_LOADS) break;
    const uint row = clamp_index(row0 + v / A_VECTORS, m - 1);
    const uint step = k0 / PER_A + v % A_VECTORS;
    a_next[l] = keep(a[(offset_a + row * lda) / PER_A + clamp_index(step, (k - 1) / PER_A)],
                     steps_left(step * PER_A));
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
  load_shared_a(a_tile[stage][(row) * A_STRIDE + (step) / PER_A], BY_ROWS, A_STRIDE, 48, WORKGROUP_SCOPE)
