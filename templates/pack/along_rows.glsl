// The operand is stored depth x rows, so vectors run along rows. The block is transposed, so that
// its column r holds row `row + r` here, too.
uint contiguous_extent(uint padded_rows, uint padded_depth) { return padded_rows; }
uint strided_extent(uint padded_rows, uint padded_depth) { return padded_depth; }
uvec2 position(uint x, uint y) { return uvec2(x, y); }
mat4 read_block(uint row, uint step) {
  mat4 block;
  [[unroll]] for (uint u = 0; u < 4; ++u) {
    const bool inside = step + u < depth && row < rows;
    const uint address = offset + min(step + u, depth - 1) * ld + (row < rows ? row : 0);
    block[u] = read_four(address, inside ? rows - row : 0);
  }
  return transpose(block);
}
