// Adds the sums of the LANES_K invocations that share a block of C into those of lane 0, by a fixed
// tree, so that results repeat bit by bit. It handles one row of sums at a time to need little
// shared memory.
shared VECTOR_C partial_sums[REG_N / VECTOR_WIDTH_C][LOCAL_SIZE];

void add_lanes() {
  // Distance of neighbouring lanes of k in the workgroup.
  const uint step = K_FASTEST == 1 ? 1 : LANES_M * LANES_N;
  const uint self = gl_LocalInvocationIndex;
  [[unroll]] for (uint i = 0; i < REG_M; ++i) {
    [[unroll]] for (uint j = 0; j < REG_N / VECTOR_WIDTH_C; ++j) partial_sums[j][self] = sums[i][j];
    for (uint half_lanes = LANES_K / 2; half_lanes > 0; half_lanes /= 2) {
      barrier();
      if (lane_k < half_lanes)
        [[unroll]] for (uint j = 0; j < REG_N / VECTOR_WIDTH_C; ++j)
          partial_sums[j][self] += partial_sums[j][self + half_lanes * step];
    }
    [[unroll]] for (uint j = 0; j < REG_N / VECTOR_WIDTH_C; ++j) sums[i][j] = partial_sums[j][self];
    barrier();
  }
}
