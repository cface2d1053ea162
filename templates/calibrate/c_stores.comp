// Rate of stores to C as GEMM kernels do them, to addresses that stay in a cache: UNROLL vectors an
// invocation and iteration, into a small window per workgroup. The branches for whole vectors or
// elements and for beta are included, since some devices execute both sides of a branch.
#extension GL_EXT_control_flow_attributes : enable
#define C_BINDING 0

layout(local_size_x = LOCAL_SIZE) in;
// window: vectors per workgroup, a power of two and at least LOCAL_SIZE * UNROLL
layout(push_constant) uniform Push {
  uint trips, window, n, ldc;
  float alpha, beta;
};
uint offset_c;

#include "epilogue/finish.glsl"
#include "epilogue/store_vector.glsl"

void main() {
  offset_c = gl_WorkGroupID.x * window * VECTOR_WIDTH_C;
  const bool whole = window * VECTOR_WIDTH_C <= n && (ldc | offset_c) % VECTOR_WIDTH_C == 0;
  uint index = gl_LocalInvocationID.x;
  for (uint t = 0; t < trips; ++t) {
    [[unroll]] for (uint i = 0; i < UNROLL; ++i)
      store_vector(whole, RESULT_C(t + i), 0, ((index + i * LOCAL_SIZE) & (window - 1)) * VECTOR_WIDTH_C);
    index += LOCAL_SIZE;
  }
}
