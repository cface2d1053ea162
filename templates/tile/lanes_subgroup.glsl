// Invocations lie in the tile in blocks of SUBGROUP_M x SUBGROUP_N elements of C, which a subgroup
// or a part of one computes: it reads shared memory in few rows and columns. Positions are x along
// n and y along m, in vectors.

// Distance of two vectors of one invocation along m and along n, in vectors: the number of
// invocations in a block along m and along n.
const uint VECTOR_STRIDE_M = SUBGROUP_M / REG_M, VECTOR_STRIDE_N = SUBGROUP_N / REG_N;
uvec2 lane_in_tile() {
  const uint in_block = gl_LocalInvocationIndex % (VECTOR_STRIDE_M * VECTOR_STRIDE_N);
  const uint block = gl_LocalInvocationIndex / (VECTOR_STRIDE_M * VECTOR_STRIDE_N);
  const uint blocks_n = TILE_N / SUBGROUP_N;
  return uvec2(block % blocks_n * (SUBGROUP_N / 4) + in_block % VECTOR_STRIDE_N,
               block / blocks_n * (SUBGROUP_M / 4) + in_block / VECTOR_STRIDE_N);
}
