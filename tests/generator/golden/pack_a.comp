#version 450
// Copies an operand into the packed layout of float32 panels (float64 for float64 operands) that a
// GEMM kernel reads from front to back:
//   [rows / PANEL_ROWS][depth / GROUP_K][PANEL_ROWS][GROUP_K]
// Rows are those of op(A) (m) or the columns of op(B) (n), and depth is k. Rows are padded with
// zeros to whole panels and depth to a multiple of PAD_K, so that GEMM kernels need no masks. An
// invocation moves 4 x 4 elements at a time. The layout is PackLayout of generator/layout.h, and
// must match what the fragments of packed operands read (templates/fragment).
//
// Rooftile pack A: panels of 16 x 8 for the kernel 'broadcast 16x64 16x8 u8 v4/4 texel/texel packed ab stage=subgroup raster=column'.
#define ELEMENT_4 vec4
#define LOCAL_SIZE 64
#define PANEL_ROWS 16
#define GROUP_K 8
#define PAD_K 8

#extension GL_EXT_control_flow_attributes : enable

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
#define ELEMENT_4X4 mat4

// x with zeros behind its first count components. It selects, since a multiplication by zero would
// keep NaN and infinity.
ELEMENT_4 keep_first(ELEMENT_4 x, uint count) {
  return mix(ELEMENT_4(0), x, lessThan(uvec4(0, 1, 2, 3), uvec4(count)));
}

// Out of a buffer of texels of four elements. Rows may begin at any address: a misaligned run is
// taken from two texels. A texel without any of the count elements is not fetched.
layout(binding = 0) uniform samplerBuffer stored;
vec4 stored_texel(uint i) { return texelFetch(stored, int(i)); }

vec4 read_four(uint address, uint count) {
  const uint shift = address % 4;
  const uint first = address / 4, last = (address + max(count, 1u) - 1) / 4;
  const vec4 low = stored_texel(first);
  if ((ld | offset) % 4 == 0) return keep_first(low, count);
  const vec4 high = stored_texel(last == first ? first : first + 1);
  const vec4 x = shift == 0 ? low
                 : shift == 1 ? vec4(low.yzw, high.x)
                 : shift == 2 ? vec4(low.zw, high.xy)
                              : vec4(low.w, high.xyz);
  return keep_first(x, count);
}

// read_block() reads a block of 4 x 4 elements, whose column r holds row `row + r` of the operand.
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

// Panels of A: GROUP_K steps of k of one row lie together.
void write_block(uint row, uint step, uint padded_depth, ELEMENT_4X4 block) {
  const uint panel = row / PANEL_ROWS * (PANEL_ROWS * padded_depth);
  const uint group = step / GROUP_K * (PANEL_ROWS * GROUP_K);
  const uint panel_index =
      first_panel + (panel + group + row % PANEL_ROWS * GROUP_K + step % GROUP_K) / 4;
  [[unroll]] for (uint r = 0; r < 4; ++r) panels[panel_index + r * (GROUP_K / 4)] = block[r];
}

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
