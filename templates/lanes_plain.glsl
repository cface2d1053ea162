// x counts along n, y along m.
uvec2 lane_in_tile() {
  return uvec2(gl_LocalInvocationIndex % LANES_N, gl_LocalInvocationIndex / LANES_N);
}
