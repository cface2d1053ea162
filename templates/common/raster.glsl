//: The order of workgroups and invocations. Positions are x along n and y along m.
#if RASTER == COLUMN
// Along m first.
uvec2 tile_position() { return gl_WorkGroupID.yx; }
uvec2 lane_position() {
  return uvec2(gl_LocalInvocationID.x / LANES_M, gl_LocalInvocationID.x % LANES_M);
}
#elif RASTER == ROW
// Along n first.
uvec2 tile_position() { return gl_WorkGroupID.xy; }
uvec2 lane_position() {
  return uvec2(gl_LocalInvocationID.x % LANES_N, gl_LocalInvocationID.x / LANES_N);
}
#else
// Workgroups through RASTER_GROUP rows of tiles before they go on along n, so that those that run
// at the same time share tiles of A and B in the cache; invocations along n first.
uvec2 tile_position() {
  const uvec2 tiles = gl_NumWorkGroups.xy;
  const uint index = gl_WorkGroupID.y * tiles.x + gl_WorkGroupID.x;
  const uint first_row = index / (RASTER_GROUP * tiles.x) * RASTER_GROUP;
  const uint rows = min(tiles.y - first_row, RASTER_GROUP);
  const uint within = index % (RASTER_GROUP * tiles.x);
  return uvec2(within / rows, first_row + within % rows);
}
uvec2 lane_position() {
  return uvec2(gl_LocalInvocationID.x % LANES_N, gl_LocalInvocationID.x / LANES_N);
}
#endif
