// Invocations lie in the tile row by row. Positions are x along n and y along m, in vectors.

// Distance of two vectors of one invocation along m and along n, in vectors.
const uint VECTOR_STRIDE_M = LANES_M, VECTOR_STRIDE_N = LANES_N;
uvec2 lane_in_tile() {
  return uvec2(gl_LocalInvocationIndex % LANES_N, gl_LocalInvocationIndex / LANES_N);
}
