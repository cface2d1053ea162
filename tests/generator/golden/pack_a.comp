#version 450
// Rooftile pack A: panels of 16 x 8 for 'broadcast 16x64 16x8 u8 v4/4 texel/texel packed ab'.
#define PANEL_ROWS 16
#define GROUP_K 8
#define PAD_K 8
#define LOCAL_SIZE 64
// Re-lays out an operand into panels that a kernel reads front to back:
//   [rows / PANEL_ROWS][depth / GROUP_K][PANEL_ROWS][GROUP_K]
// where rows are those of op(A) (m) or the columns of op(B) (n), and depth is k. Zero padded to
// whole panels and to a multiple of PAD_K, so that readers need no masks. An invocation moves 4 x 4
// elements at a time.
#extension GL_EXT_control_flow_attributes : enable

// Elements of fragments and sums.
#define ELEMENT float
#define ELEMENT_2 vec2
#define ELEMENT_4 vec4

layout(local_size_x = LOCAL_SIZE) in;
layout(push_constant) uniform Packing {
  uint rows, depth;
  uint ld, base, stride;  // elements; of the first product, from a product to the next
  uint panel_stride;      // elements of panels a product
};
uint offset;  // of this product
layout(binding = 1, std430) writeonly buffer Panels { vec4 panels[]; };
uint first_panel;  // of this product, in vectors

// What elements and vectors of two and four share, so that a kernel is written once for every width.
ELEMENT component(ELEMENT x, uint i) { return x; }
ELEMENT component(ELEMENT_2 x, uint i) { return x[i]; }
ELEMENT component(ELEMENT_4 x, uint i) { return x[i]; }

// The first count components, zero in the others. A select, not a product: NaN and Inf must go.
ELEMENT keep(ELEMENT x, uint count) { return count > 0 ? x : ELEMENT(0); }
ELEMENT_2 keep(ELEMENT_2 x, uint count) {
  return mix(ELEMENT_2(0), x, lessThan(uvec2(0, 1), uvec2(count)));
}
ELEMENT_4 keep(ELEMENT_4 x, uint count) {
  return mix(ELEMENT_4(0), x, lessThan(uvec4(0, 1, 2, 3), uvec4(count)));
}

// All operands are float32: nothing to widen.

// The stored operand as texels of four elements. Rows may begin anywhere: a misaligned run is cut out of
// two texels. Four elements from address on, zero from count on; texels without any of them are
// not fetched.

layout(binding = 0) uniform samplerBuffer stored;
vec4 stored_texel(uint i) { return texelFetch(stored, int(i)); }

vec4 read_four(uint address, uint count) {
  const uint shift = address % 4;
  const uint first = address / 4, last = (address + max(count, 1u) - 1) / 4;
  const vec4 low = stored_texel(first);
  if ((ld | offset) % 4 == 0) return keep(low, count);
  const vec4 high = stored_texel(last == first ? first : first + 1);
  const vec4 x = shift == 0 ? low
                 : shift == 1 ? vec4(low.yzw, high.x)
                 : shift == 2 ? vec4(low.zw, high.xy)
                              : vec4(low.w, high.xyz);
  return keep(x, count);
}

// Stored rows x depth: vectors along depth; column r of the block is row + r.
uint contiguous(uint padded_rows, uint padded_depth) { return padded_depth; }
uint strided(uint padded_rows, uint padded_depth) { return padded_rows; }
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

// Panels of A: GROUP_K steps of a row lie together.
void write_block(uint row, uint step, uint padded_depth, mat4 block) {
  const uint panel = row / PANEL_ROWS * (PANEL_ROWS * padded_depth);
  const uint group = step / GROUP_K * (PANEL_ROWS * GROUP_K);
  const uint target = first_panel + (panel + group + row % PANEL_ROWS * GROUP_K + step % GROUP_K) / 4;
  [[unroll]] for (uint r = 0; r < 4; ++r) panels[target + r * (GROUP_K / 4)] = block[r];
}

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
