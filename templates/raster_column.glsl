// Workgroups and invocations run along m first. x counts along n, y along m.
uvec2 tile_position() { return gl_WorkGroupID.yx; }
uvec2 lane_position() {
  return uvec2(gl_LocalInvocationID.x / LANES_M, gl_LocalInvocationID.x % LANES_M);
}
