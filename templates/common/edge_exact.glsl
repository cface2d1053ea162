// Edge exact: m, n and k are multiples of the tile, and nothing is checked.
uint clamp_index(uint index, uint last) { return index; }
uint steps_left(uint k0) { return 16u; }  // as many as the longest vector holds
bool columns_inside(uvec2 tile) { return true; }
