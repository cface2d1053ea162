// Latency of a load: a chain of loads of which each address depends on the value before, UNROLL of
// them an iteration. The source holds zeros, which the compiler cannot know.
#extension GL_EXT_control_flow_attributes : enable
layout(local_size_x = LOCAL_SIZE) in;
layout(binding = 0, std430) readonly buffer Source { uint source[]; };
layout(binding = 1, std430) writeonly buffer Target { uint target[]; };
// window: number of words that are read, a power of two
layout(push_constant) uniform Push { uint trips, window; };

void main() {
  uint index = gl_LocalInvocationID.x;
  for (uint t = 0; t < trips; ++t) {
    [[unroll]] for (uint i = 0; i < UNROLL; ++i) index = (index + 17 + source[index]) & (window - 1);
  }
  target[gl_GlobalInvocationID.x] = index;
}
