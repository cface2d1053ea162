// Blocks of SUBGROUP_M x SUBGROUP_N of C: so many neighbours own one that together they read each
// vector of shared memory from few rows and columns. x counts along n, y along m, in vectors.
const uint SPREAD_M = SUBGROUP_M / REG_M, SPREAD_N = SUBGROUP_N / REG_N;  // invocations of a block
uvec2 lane_in_tile() {
  const uint in_block = gl_LocalInvocationIndex % (SPREAD_M * SPREAD_N);
  const uint block = gl_LocalInvocationIndex / (SPREAD_M * SPREAD_N);
  const uint blocks_n = TILE_N / SUBGROUP_N;
  return uvec2(block % blocks_n * (SUBGROUP_N / 4) + in_block % SPREAD_N,
               block / blocks_n * (SUBGROUP_M / 4) + in_block / SPREAD_N);
}
