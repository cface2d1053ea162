// Raster column: workgroups and invocations are numbered along m first. Positions are x along n and
// y along m.
uvec2 tile_position() { return gl_WorkGroupID.yx; }
uvec2 lane_position() {
  return uvec2(gl_LocalInvocationID.x / LANES_M, gl_LocalInvocationID.x % LANES_M);
}
