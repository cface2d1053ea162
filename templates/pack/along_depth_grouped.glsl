// A of a grouped GEMM, rows x depth: panel t holds the rows of tile t (common/problem_grouped.glsl),
// and zeros beyond them. Vectors run along depth. Column r of a block holds row `row + r`.
layout(binding = GROUP_BINDING, std430) readonly buffer GroupTiles { uvec4 group_tiles[]; };

uint contiguous_extent(uint padded_rows, uint padded_depth) { return padded_depth; }
uint strided_extent(uint padded_rows, uint padded_depth) { return padded_rows; }
uvec2 position(uint x, uint y) { return uvec2(y, x); }
mat4 read_block(uint row, uint step) {
  const uvec4 tile = group_tiles[row / PANEL_ROWS];
  const uint last = max(tile.z, 1u) - 1;
  mat4 block;
  [[unroll]] for (uint r = 0; r < 4; ++r) {
    const uint in_tile = row % PANEL_ROWS + r;
    const bool inside = in_tile < tile.z && step < depth;
    const uint address = offset + (tile.y + min(in_tile, last)) * ld + (step < depth ? step : 0);
    block[r] = read_four(address, inside ? depth - step : 0);
  }
  return block;
}
