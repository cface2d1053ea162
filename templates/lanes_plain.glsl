// x counts along n, y along m.
const uint SPREAD_M = LANES_M, SPREAD_N = LANES_N;
uvec2 lane_in_tile() {
  return uvec2(gl_LocalInvocationIndex % LANES_N, gl_LocalInvocationIndex / LANES_N);
}
