// Multiplies where the lanes of a subgroup share the fragment of A: the lane that holds a vector
// broadcasts it to all lanes.
#include "common/product.glsl"

void multiply_vector(ELEMENT_4 a, uint vector_index) {
  const uint i = 4 * vector_index / UNROLL_K, first = 4 * vector_index % UNROLL_K;
  [[unroll]] for (uint u = 0; u < 4; ++u)
    [[unroll]] for (uint j = 0; j < REG_N / VECTOR_WIDTH_C; ++j)
      sums[i][j] += product(a[u], b_at(first + u, j));
}

// Below SPIR-V 1.5 the lane of a broadcast must be a compile-time constant, which a loop counter is
// not: fragment/from_lanes_N.glsl lists the lanes of a subgroup of N.
#define FROM_LANE(lane) multiply_vector(subgroupBroadcast(own, lane), first + lane);
#define FROM_4_LANES(lane) \
  FROM_LANE(lane) FROM_LANE(lane + 1) FROM_LANE(lane + 2) FROM_LANE(lane + 3)
#define FROM_16_LANES(lane) \
  FROM_4_LANES(lane) FROM_4_LANES(lane + 4) FROM_4_LANES(lane + 8) FROM_4_LANES(lane + 12)

void multiply(uint steps) {
  [[unroll]] for (uint v = 0; v < REG_M * UNROLL_K / 4 / SUBGROUP_SIZE; ++v) {
    const ELEMENT_4 own = a_own[v];
    const uint first = v * SUBGROUP_SIZE;
#include "fragment/from_lanes_8.glsl"
  }
}
