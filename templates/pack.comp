#version 450
// Re-lays out an operand into panels that a kernel reads front to back:
//   [rows / PANEL_ROWS][depth / GROUP_K][PANEL_ROWS][GROUP_K]
// where rows are those of op(A) (m) or the columns of op(B) (n), and depth is k. Zero padded to
// whole panels and to a multiple of PAD_K, so that readers need no masks. An invocation moves 4 x 4
// elements at a time.
#extension GL_GOOGLE_include_directive : enable
#extension GL_EXT_control_flow_attributes : enable
#include "elements_f32.glsl"

#ifndef PANEL_ROWS
#define PANEL_ROWS 32
#endif
#ifndef GROUP_K
#define GROUP_K 8
#endif
#ifndef PAD_K
#define PAD_K 8
#endif
#ifndef LOCAL_SIZE
#define LOCAL_SIZE 64
#endif

layout(local_size_x = LOCAL_SIZE) in;
layout(push_constant) uniform Packing {
  uint rows, depth;
  uint ld, base, stride;  // elements; of the first product, from a product to the next
  uint panel_stride;      // elements of panels a product
};
uint offset;  // of this product
layout(binding = 1, std430) writeonly buffer Panels { vec4 panels[]; };
uint first_panel;  // of this product, in vectors

#include "vectors.glsl"
#include "half_none.glsl"
#include "pack_read_buffer.glsl"
#include "pack_along_depth.glsl"
#include "pack_groups.glsl"

void main() {
  const uint product = gl_WorkGroupID.z;
  offset = base + product * stride;
  first_panel = product * panel_stride / 4;
  const uint padded_rows = (rows + PANEL_ROWS - 1) / PANEL_ROWS * PANEL_ROWS;
  const uint padded_depth = (depth + PAD_K - 1) / PAD_K * PAD_K;
  const uint length = contiguous(padded_rows, padded_depth) / 4;
  const uint count = strided(padded_rows, padded_depth) / 4;
  // Strides of the whole grid: any grid is right, so the planner may cut it to the device's limits.
  for (uint y = gl_WorkGroupID.y; y < count; y += gl_NumWorkGroups.y)
    for (uint x = gl_GlobalInvocationID.x; x < length; x += gl_NumWorkGroups.x * LOCAL_SIZE) {
      const uvec2 block = 4 * position(x, y);  // row, step
      write_block(block.x, block.y, padded_depth, read_block(block.x, block.y));
    }
}
