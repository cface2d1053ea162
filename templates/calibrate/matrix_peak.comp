// Peak rate of matrix units: CHAINS independent sums a subgroup, without memory accesses in the
// loop.
#extension GL_EXT_control_flow_attributes : enable
#extension GL_KHR_shader_subgroup_basic : enable
#pragma use_vulkan_memory_model
#include "common/elements.glsl"

#define SHARED_VECTOR uint
#include "matrix/cooperative_matrix.glsl"

layout(local_size_x = LOCAL_SIZE) in;
layout(binding = 0, std430) writeonly buffer Target { float target[]; };
// The operands' words are a push constant so that the compiler cannot fold the loop.
layout(push_constant) uniform Push { uint trips, word; };

const uint SUBGROUPS = LOCAL_SIZE / SUBGROUP_SIZE;
const uint WORDS_A = MATRIX_M * MATRIX_K / ELEMENTS_PER_WORD,
           WORDS_B = MATRIX_K * MATRIX_N / ELEMENTS_PER_WORD;
shared uint a_words[WORDS_A], b_words[WORDS_B];
shared ELEMENT c_tile[SUBGROUPS][MATRIX_M * MATRIX_N];

void main() {
  for (uint i = gl_LocalInvocationIndex; i < WORDS_A; i += LOCAL_SIZE) a_words[i] = word;
  for (uint i = gl_LocalInvocationIndex; i < WORDS_B; i += LOCAL_SIZE) b_words[i] = word;
  barrier();
  const MatrixA a =
      coopMatLoadVisibleA(a_words[0], CooperativeMatrixLayoutRowMajor,
                          MATRIX_K / ELEMENTS_PER_WORD, NonPrivateMakeVisible, gl_ScopeWorkgroup);
  const MatrixB b =
      coopMatLoadVisibleB(b_words[0], CooperativeMatrixLayoutColumnMajor,
                          MATRIX_K / ELEMENTS_PER_WORD, NonPrivateMakeVisible, gl_ScopeWorkgroup);
  MatrixC sums[CHAINS];
  [[unroll]] for (uint i = 0; i < CHAINS; ++i) sums[i] = coopmatC(ELEMENT(i));
  for (uint t = 0; t < trips; ++t) {
    [[unroll]] for (uint s = 0; s < STEPS; ++s)
      [[unroll]] for (uint i = 0; i < CHAINS; ++i) sums[i] = coopMatMulAdd(a, b, sums[i]);
  }
  ELEMENT total = ELEMENT(0);
  [[unroll]] for (uint i = 0; i < CHAINS; ++i) {
    coopMatStoreSharedC(c_tile[gl_SubgroupID], 0, sums[i], CooperativeMatrixLayoutRowMajor,
                        MATRIX_N, NonPrivateMakeAvailable, gl_ScopeWorkgroup);
    subgroupBarrier();
    total += c_tile[gl_SubgroupID][gl_SubgroupInvocationID];
    subgroupBarrier();
  }
  target[gl_GlobalInvocationID.x] = float(total);
}
