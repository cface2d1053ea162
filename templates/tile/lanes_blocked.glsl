// Invocations lie in the tile in blocks of 8 x 4: the 32 of a block read 4 vectors of A and 8 of B
// a step from shared memory, where 32 in one row would read 1 and 32. Positions are x along n and y
// along m, in vectors.

// Distance of two vectors of one invocation along m and along n, in vectors.
const uint VECTOR_STRIDE_M = LANES_M, VECTOR_STRIDE_N = LANES_N;
uvec2 lane_in_tile() {
  const uint in_block = gl_LocalInvocationIndex % 32, block = gl_LocalInvocationIndex / 32;
  return uvec2(block % (LANES_N / 8) * 8 + in_block % 8, block / (LANES_N / 8) * 4 + in_block / 8);
}
