// Workgroups and invocations run along n first. x counts along n, y along m.
uvec2 tile_position() { return gl_WorkGroupID.xy; }
uvec2 lane_position() {
  return uvec2(gl_LocalInvocationID.x % LANES_N, gl_LocalInvocationID.x / LANES_N);
}
