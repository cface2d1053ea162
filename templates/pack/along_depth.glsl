// The operand is stored rows x depth, so vectors run along depth. Column r of a block holds row
// `row + r` of the operand.
uint contiguous_extent(uint padded_rows, uint padded_depth) { return padded_depth; }
uint strided_extent(uint padded_rows, uint padded_depth) { return padded_rows; }
uvec2 position(uint x, uint y) { return uvec2(y, x); }
mat4 read_block(uint row, uint step) {
  mat4 block;
  [[unroll]] for (uint r = 0; r < 4; ++r) {
    const bool inside = row + r < rows && step < depth;
    const uint address = offset + min(row + r, rows - 1) * ld + (step < depth ? step : 0);
    block[r] = read_four(address, inside ? depth - step : 0);
  }
  return block;
}
