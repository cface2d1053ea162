// Raster row: workgroups and invocations are numbered along n first. Positions are x along n and y
// along m.
uvec2 tile_position() { return gl_WorkGroupID.xy; }
uvec2 lane_position() {
  return uvec2(gl_LocalInvocationID.x % LANES_N, gl_LocalInvocationID.x / LANES_N);
}
