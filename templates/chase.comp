#version 450
// Loads of which each needs the one before: UNROLL of them a trip. The source holds zeros, which no
// compiler knows.
#extension GL_EXT_control_flow_attributes : enable
#ifndef LOCAL_SIZE
#define LOCAL_SIZE 1
#endif
#ifndef UNROLL
#define UNROLL 8
#endif
layout(local_size_x = LOCAL_SIZE) in;
layout(binding = 0, std430) readonly buffer Source { uint source[]; };
layout(binding = 1, std430) writeonly buffer Target { uint target[]; };
// window: words that are read, a power of two
layout(push_constant) uniform Push { uint trips, window; };

void main() {
  uint at = gl_LocalInvocationID.x;
  for (uint t = 0; t < trips; ++t) {
    [[unroll]] for (uint i = 0; i < UNROLL; ++i) at = (at + 17 + source[at]) & (window - 1);
  }
  target[gl_GlobalInvocationID.x] = at;
}
