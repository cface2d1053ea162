// Copies an operand with elements of ELEMENT_BITS bits into the packed layout of 32-bit words, each
// of which holds neighbouring elements along k:
//   [rows / PANEL_ROWS][words / GROUP_K][PANEL_ROWS][GROUP_K]
// Rows are those of op(A) (m) or the columns of op(B) (n), and words count along k. The operand
// is padded with zeros to a multiple of PAD_ROWS rows, which are whole panels, and of PAD_K words.
// An invocation moves one word at a time. The layout is PackLayout of generator/layout.h,
// and must match what the fragments of packed operands read (templates/matrix).
//: Depends on ELEMENT_BITS, on ALONG_DEPTH (how the operand is stored), and on PANEL_ROWS, GROUP_K,
//: PAD_ROWS and PAD_K.
#extension GL_EXT_control_flow_attributes : enable

layout(local_size_x = LOCAL_SIZE) in;
layout(push_constant) uniform Packing {
  uint rows, depth;  // depth: all of k, in elements
  // Leading dimension, offset of the first matrix, distance from a matrix of the batch to the next;
  // in elements of the stored operand.
  uint ld, base, stride;
  uint panel_stride;  // words of one packed matrix
};
layout(binding = 1, std430) writeonly buffer Panels { uint panels[]; };

const uint ELEMENTS_PER_WORD = 32 / ELEMENT_BITS;

layout(binding = 0, std430) readonly buffer Stored { uint stored_words[]; };
uint stored_bits(uint address) {
  return bitfieldExtract(stored_words[address / ELEMENTS_PER_WORD],
                         int(address % ELEMENTS_PER_WORD * ELEMENT_BITS), ELEMENT_BITS);
}

void main() {
  const uint batch_index = gl_WorkGroupID.z;
  const uint offset = base + batch_index * stride;
  const uint words = (depth + ELEMENTS_PER_WORD - 1) / ELEMENTS_PER_WORD;
  const uint padded_rows = (rows + PAD_ROWS - 1) / PAD_ROWS * PAD_ROWS;
  const uint padded_words = (words + PAD_K - 1) / PAD_K * PAD_K;
  // x runs along the dimension in which the stored operand is contiguous, so that neighbouring
  // invocations read neighbouring elements.
  const uint length = ALONG_DEPTH == 1 ? padded_words : padded_rows;
  const uint count = ALONG_DEPTH == 1 ? padded_rows : padded_words;
  for (uint y = gl_WorkGroupID.y; y < count; y += gl_NumWorkGroups.y)
    for (uint x = gl_GlobalInvocationID.x; x < length; x += gl_NumWorkGroups.x * LOCAL_SIZE) {
      const uint row = ALONG_DEPTH == 1 ? y : x, word = ALONG_DEPTH == 1 ? x : y;
      uint packed_word = 0;
      [[unroll]] for (uint i = 0; i < ELEMENTS_PER_WORD; ++i) {
        const uint step = word * ELEMENTS_PER_WORD + i;
        if (row < rows && step < depth)
          packed_word |= stored_bits(offset + (ALONG_DEPTH == 1 ? row * ld + step : step * ld + row))
                         << ELEMENT_BITS * i;
      }
      const uint panel = row / PANEL_ROWS * (PANEL_ROWS * padded_words);
      const uint group = word / GROUP_K * (PANEL_ROWS * GROUP_K);
      panels[batch_index * panel_stride + panel + group + row % PANEL_ROWS * GROUP_K +
             word % GROUP_K] = packed_word;
    }
}
