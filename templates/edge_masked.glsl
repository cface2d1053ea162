// Tiles may hang over the edge of C. Rows of A and columns of B beyond it are read at the last one instead: they only reach
// elements of C that are never stored, so they need an address inside the buffer but no zero.
uint clamp_index(uint index, uint last) { return min(index, last); }
bool tile_inside(uvec2 tile) { return (tile.y + 1) * TILE_M <= m && (tile.x + 1) * TILE_N <= n; }
