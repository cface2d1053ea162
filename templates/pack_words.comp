#version 450
// Re-lays out an operand of BITS into panels of words, each a few neighbours along k:
//   [rows / PANEL_ROWS][words / GROUP_K][PANEL_ROWS][GROUP_K]
// where rows are those of op(A) (m) or the columns of op(B) (n), and words hold k. Zero padded to a
// multiple of PAD_ROWS rows, whole panels, and of PAD_K words. An invocation moves a word.
#extension GL_GOOGLE_include_directive : enable
#extension GL_EXT_control_flow_attributes : enable

#ifndef PANEL_ROWS
#define PANEL_ROWS 32
#endif
#ifndef GROUP_K
#define GROUP_K 8
#endif
#ifndef PAD_ROWS
#define PAD_ROWS 32
#endif
#ifndef PAD_K
#define PAD_K 8
#endif
#ifndef BITS
#define BITS 8
#endif
#ifndef ALONG_DEPTH
#define ALONG_DEPTH 1
#endif
#ifndef LOCAL_SIZE
#define LOCAL_SIZE 64
#endif

layout(local_size_x = LOCAL_SIZE) in;
layout(push_constant) uniform Packing {
  uint rows, depth;       // depth: all of k, in elements
  uint ld, base, stride;  // elements; of the first product, from a product to the next
  uint panel_stride;      // words of panels a product
};
layout(binding = 1, std430) writeonly buffer Panels { uint panels[]; };

const uint PER_WORD = 32 / BITS;  // elements

#include "pack_bits_stored.glsl"

void main() {
  const uint product = gl_WorkGroupID.z;
  const uint offset = base + product * stride;
  const uint words = (depth + PER_WORD - 1) / PER_WORD;
  const uint padded_rows = (rows + PAD_ROWS - 1) / PAD_ROWS * PAD_ROWS;
  const uint padded_words = (words + PAD_K - 1) / PAD_K * PAD_K;
  // Neighbours read neighbours: along k or along rows, as stored.
  const uint length = ALONG_DEPTH == 1 ? padded_words : padded_rows;
  const uint count = ALONG_DEPTH == 1 ? padded_rows : padded_words;
  for (uint y = gl_WorkGroupID.y; y < count; y += gl_NumWorkGroups.y)
    for (uint x = gl_GlobalInvocationID.x; x < length; x += gl_NumWorkGroups.x * LOCAL_SIZE) {
      const uint row = ALONG_DEPTH == 1 ? y : x, word = ALONG_DEPTH == 1 ? x : y;
      uint packed_word = 0;
      [[unroll]] for (uint i = 0; i < PER_WORD; ++i) {
        const uint step = word * PER_WORD + i;
        if (row < rows && step < depth)
          packed_word |= stored_bits(offset + (ALONG_DEPTH == 1 ? row * ld + step : step * ld + row))
                         << BITS * i;
      }
      const uint panel = row / PANEL_ROWS * (PANEL_ROWS * padded_words);
      const uint group = word / GROUP_K * (PANEL_ROWS * GROUP_K);
      panels[product * panel_stride + panel + group + row % PANEL_ROWS * GROUP_K + word % GROUP_K] =
          packed_word;
    }
}
