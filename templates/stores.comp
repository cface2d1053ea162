#version 450
// Stores that hit a cache: UNROLL independent stores an invocation and trip into a small window of the
// workgroup's own, as a kernel writes its block of C.
#extension GL_EXT_control_flow_attributes : enable
#ifndef LOCAL_SIZE
#define LOCAL_SIZE 64
#endif
#ifndef WIDTH
#define WIDTH 4
#endif
#ifndef UNROLL
#define UNROLL 8
#endif
#if WIDTH == 4
#define STORED vec4
#else
#define STORED float
#endif
layout(local_size_x = LOCAL_SIZE) in;
layout(binding = 0, std430) writeonly buffer Target { STORED target[]; };
// window: elements (of WIDTH) of a workgroup, a power of two not below LOCAL_SIZE * UNROLL
layout(push_constant) uniform Push { uint trips, window; };

void main() {
  const uint base = gl_WorkGroupID.x * window;
  uint at = gl_LocalInvocationID.x;
  for (uint t = 0; t < trips; ++t) {
    [[unroll]] for (uint i = 0; i < UNROLL; ++i)
      target[base + ((at + i * LOCAL_SIZE) & (window - 1))] = STORED(t + i);
    at += LOCAL_SIZE;
  }
}
