// Rate of stores that hit a cache: UNROLL independent stores an invocation and iteration into a
// small window per workgroup, as a kernel writes its block of C.
#extension GL_EXT_control_flow_attributes : enable
#if WIDTH == 4
#define STORED vec4
#else
#define STORED float
#endif
layout(local_size_x = LOCAL_SIZE) in;
layout(binding = 0, std430) writeonly buffer Target { STORED target[]; };
// window: number of elements (of WIDTH) per workgroup, a power of two and at least
// LOCAL_SIZE * UNROLL
layout(push_constant) uniform Push { uint trips, window; };

void main() {
  const uint base = gl_WorkGroupID.x * window;
  uint index = gl_LocalInvocationID.x;
  for (uint t = 0; t < trips; ++t) {
    [[unroll]] for (uint i = 0; i < UNROLL; ++i)
      target[base + ((index + i * LOCAL_SIZE) & (window - 1))] = STORED(t + i);
    index += LOCAL_SIZE;
  }
}
