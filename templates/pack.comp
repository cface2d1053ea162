// Copies an operand into the packed layout of float32 panels (float64 for float64 operands) that a
// GEMM kernel reads from front to back:
//   [rows / PANEL_ROWS][depth / GROUP_K][PANEL_ROWS][GROUP_K]
// Rows are those of op(A) (m) or the columns of op(B) (n), and depth is k. Rows are padded with
// zeros to whole panels and depth to a multiple of PAD_K, so that GEMM kernels need no masks. An
// invocation moves 4 x 4 elements at a time. The layout is PackLayout of generator/layout.h, and
// must match what the fragments of packed operands read (templates/fragment).
//: Depends on OPERAND, on how it is stored (ALONG_DEPTH, GROUPED, and what load/read_four.glsl
//: names), and on PANEL_ROWS, GROUP_K and PAD_K.
#extension GL_EXT_control_flow_attributes : enable
#include "common/elements.glsl"

layout(local_size_x = LOCAL_SIZE) in;
layout(push_constant) uniform Packing {
  uint rows, depth;
  // Leading dimension, offset of the first matrix, distance from a matrix of the batch to the next;
  // in elements of the stored operand.
  uint ld, base, stride;
  uint panel_stride;  // elements of one packed matrix
};
uint offset;  // first element of this matrix of the batch
layout(binding = 1, std430) writeonly buffer Panels { ELEMENT_4 panels[]; };
uint first_panel;  // first vector of this matrix's panels
#if TYPE == F64
#define ELEMENT_4X4 dmat4
#else
#define ELEMENT_4X4 mat4
#endif

#include "common/vectors.glsl"
#include "load/types.glsl"
#include "load/read_four.glsl"

// read_block() reads a block of 4 x 4 elements, whose column r holds row `row + r` of the operand.
#if GROUPED
// A of a grouped GEMM, stored rows x depth, so vectors run along depth: panel t holds the rows of
// tile t (group_tiles.comp), and zeros beyond them.
layout(binding = GROUP_BINDING, std430) readonly buffer GroupTiles { uvec4 group_tiles[]; };

uint contiguous_extent(uint padded_rows, uint padded_depth) { return padded_depth; }
uint strided_extent(uint padded_rows, uint padded_depth) { return padded_rows; }
uvec2 position(uint x, uint y) { return uvec2(y, x); }
ELEMENT_4X4 read_block(uint row, uint step) {
  const uvec4 tile = group_tiles[row / PANEL_ROWS];
  const uint last = max(tile.z, 1u) - 1;
  ELEMENT_4X4 block;
  [[unroll]] for (uint r = 0; r < 4; ++r) {
    const uint in_tile = row % PANEL_ROWS + r;
    const bool inside = in_tile < tile.z && step < depth;
    const uint address = offset + (tile.y + min(in_tile, last)) * ld + (step < depth ? step : 0);
    block[r] = read_four(address, inside ? depth - step : 0);
  }
  return block;
}

#elif ALONG_DEPTH
// The operand is stored rows x depth, so vectors run along depth.
uint contiguous_extent(uint padded_rows, uint padded_depth) { return padded_depth; }
uint strided_extent(uint padded_rows, uint padded_depth) { return padded_rows; }
uvec2 position(uint x, uint y) { return uvec2(y, x); }
ELEMENT_4X4 read_block(uint row, uint step) {
  ELEMENT_4X4 block;
  [[unroll]] for (uint r = 0; r < 4; ++r) {
    const bool inside = row + r < rows && step < depth;
    const uint address = offset + min(row + r, rows - 1) * ld + (step < depth ? step : 0);
    block[r] = read_four(address, inside ? depth - step : 0);
  }
  return block;
}

#else
// The operand is stored depth x rows, so vectors run along rows, and the block is transposed.
uint contiguous_extent(uint padded_rows, uint padded_depth) { return padded_rows; }
uint strided_extent(uint padded_rows, uint padded_depth) { return padded_depth; }
uvec2 position(uint x, uint y) { return uvec2(x, y); }
ELEMENT_4X4 read_block(uint row, uint step) {
  ELEMENT_4X4 block;
  [[unroll]] for (uint u = 0; u < 4; ++u) {
    const bool inside = step + u < depth && row < rows;
    const uint address = offset + min(step + u, depth - 1) * ld + (row < rows ? row : 0);
    block[u] = read_four(address, inside ? rows - row : 0);
  }
  return transpose(block);
}
#endif

#if OPERAND == A
// Panels of A: GROUP_K steps of k of one row lie together.
void write_block(uint row, uint step, uint padded_depth, ELEMENT_4X4 block) {
  const uint panel = row / PANEL_ROWS * (PANEL_ROWS * padded_depth);
  const uint group = step / GROUP_K * (PANEL_ROWS * GROUP_K);
  const uint panel_index =
      first_panel + (panel + group + row % PANEL_ROWS * GROUP_K + step % GROUP_K) / 4;
  [[unroll]] for (uint r = 0; r < 4; ++r) panels[panel_index + r * (GROUP_K / 4)] = block[r];
}
#else
// Panels of B: all columns of a panel lie together at each step of k (GROUP_K is 1).
void write_block(uint row, uint step, uint padded_depth, ELEMENT_4X4 block) {
  const uint panel = row / PANEL_ROWS * (PANEL_ROWS * padded_depth);
  const uint panel_index = first_panel + (panel + step * PANEL_ROWS + row % PANEL_ROWS) / 4;
  const ELEMENT_4X4 transposed = transpose(block);
  [[unroll]] for (uint u = 0; u < 4; ++u) panels[panel_index + u * (PANEL_ROWS / 4)] = transposed[u];
}
#endif

void main() {
  const uint batch_index = gl_WorkGroupID.z;
  offset = base + batch_index * stride;
  first_panel = batch_index * panel_stride / 4;
  const uint padded_rows = (rows + PANEL_ROWS - 1) / PANEL_ROWS * PANEL_ROWS;
  const uint padded_depth = (depth + PAD_K - 1) / PAD_K * PAD_K;
  const uint length = contiguous_extent(padded_rows, padded_depth) / 4;
  const uint count = strided_extent(padded_rows, padded_depth) / 4;
  // Grid-stride loops: a grid of any size computes the same, so the plan may cut it to the device's
  // limits.
  for (uint y = gl_WorkGroupID.y; y < count; y += gl_NumWorkGroups.y)
    for (uint x = gl_GlobalInvocationID.x; x < length; x += gl_NumWorkGroups.x * LOCAL_SIZE) {
      const uvec2 block = 4 * position(x, y);  // row, step
      write_block(block.x, block.y, padded_depth, read_block(block.x, block.y));
    }
}
