// m, n and k are multiples of the tile: nothing to check.
uint clamp_index(uint index, uint last) { return index; }
uint steps_left(uint k0) { return 16u; }  // what the longest vector holds
bool columns_inside(uvec2 tile) { return true; }
