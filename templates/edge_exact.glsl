// m, n and k are multiples of the tile: nothing to check.
uint clamp_index(uint index, uint last) { return index; }
bool tile_inside(uvec2 tile) { return true; }
