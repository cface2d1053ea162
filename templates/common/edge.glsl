//: What lies beyond the edges of C and of k.
#if EDGE == EXACT
// m, n and k are multiples of the tile, and nothing is checked.
uint clamp_index(uint index, uint last) { return index; }
uint steps_left(uint k0) { return 16u; }  // as many as the longest vector holds
bool columns_inside(uvec2 tile) { return true; }
#else
// Tiles may extend beyond m, n and k. For a row of A or a column of B beyond the edge the last one
// is read instead, since it contributes only to elements of C that are never stored. For steps
// beyond k, addresses are clamped and values are set to zero.
uint clamp_index(uint index, uint last) { return min(index, last); }
uint steps_left(uint k0) { return k - min(k0, k); }
bool columns_inside(uvec2 tile) { return (tile.x + 1) * TILE_N <= n; }
#endif
