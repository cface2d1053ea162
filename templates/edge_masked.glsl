// Tiles may hang over the edge of C. Rows of A and columns of B beyond it are read at the last
// one instead: they only reach elements of C that are never stored, so they need an address
// inside the buffer but no zero. Steps beyond k need both.
uint clamp_index(uint index, uint last) { return min(index, last); }
uint steps_left(uint k0) { return k0 < k ? k - k0 : 0u; }
bool columns_inside(uvec2 tile) { return (tile.x + 1) * TILE_N <= n; }
