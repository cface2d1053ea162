#version 450
// Copies an operand into the packed layout of float32 panels that a GEMM kernel reads from front to
// back:
//   [rows / PANEL_ROWS][depth / GROUP_K][PANEL_ROWS][GROUP_K]
// Rows are those of op(A) (m) or the columns of op(B) (n), and depth is k. Rows are padded with
// zeros to whole panels and depth to a multiple of PAD_K, so that GEMM kernels need no masks. An
// invocation moves 4 x 4 elements at a time.
#extension GL_GOOGLE_include_directive : enable
#extension GL_EXT_control_flow_attributes : enable
#include "common/elements_f32.glsl"

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
  // Leading dimension, offset of the first matrix, distance from a matrix of the batch to the next;
  // in elements of the stored operand.
  uint ld, base, stride;
  uint panel_stride;  // elements of one packed matrix
};
uint offset;  // first element of this matrix of the batch
layout(binding = 1, std430) writeonly buffer Panels { vec4 panels[]; };
uint first_panel;  // first vector of this matrix's panels

#include "common/vectors.glsl"
#include "load/widen_none.glsl"
#include "pack/read_buffer.glsl"
#include "pack/along_depth.glsl"
#include "pack/write_a.glsl"

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
