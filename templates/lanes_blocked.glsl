// Blocks of 8 x 4 invocations: 32 neighbours read 4 vectors of A and 8 of B a step from shared
// memory, in rows of 32 they would read 1 and 32. x counts along n, y along m.
const uint SPREAD_M = LANES_M, SPREAD_N = LANES_N;
uvec2 lane_in_tile() {
  const uint in_block = gl_LocalInvocationIndex % 32, block = gl_LocalInvocationIndex / 32;
  return uvec2(block % (LANES_N / 8) * 8 + in_block % 8, block / (LANES_N / 8) * 4 + in_block / 8);
}
