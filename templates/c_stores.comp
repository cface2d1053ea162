#version 450
// Stores of C that hit a cache, as kernels do them: UNROLL vectors an invocation and trip into a small
// window of the workgroup's own, each whole or by elements, and with beta. Devices that run both
// sides of a branch pay for all of that.
#extension GL_GOOGLE_include_directive : enable
#extension GL_EXT_control_flow_attributes : enable
#ifndef LOCAL_SIZE
#define LOCAL_SIZE 64
#endif
#ifndef UNROLL
#define UNROLL 8
#endif
#ifndef VECTOR_WIDTH_C
#define VECTOR_WIDTH_C 4
#define RESULT_C vec4
#endif
#define C_BINDING 0

layout(local_size_x = LOCAL_SIZE) in;
// window: vectors of a workgroup, a power of two not below LOCAL_SIZE * UNROLL
layout(push_constant) uniform Push {
  uint trips, window, n, ldc;
  float alpha, beta;
};
uint offset_c;

#include "epilogue_none.glsl"
#include "store_vector.glsl"

void main() {
  offset_c = gl_WorkGroupID.x * window * VECTOR_WIDTH_C;
  const bool whole = window * VECTOR_WIDTH_C <= n && (ldc | offset_c) % VECTOR_WIDTH_C == 0;
  uint at = gl_LocalInvocationID.x;
  for (uint t = 0; t < trips; ++t) {
    [[unroll]] for (uint i = 0; i < UNROLL; ++i)
      store_vector(whole, RESULT_C(t + i), 0, ((at + i * LOCAL_SIZE) & (window - 1)) * VECTOR_WIDTH_C);
    at += LOCAL_SIZE;
  }
}
