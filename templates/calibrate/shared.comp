// Bandwidth of reading shared memory: UNROLL vec4, 16 * UNROLL bytes, an invocation and iteration,
// at addresses that rotate.
#extension GL_EXT_control_flow_attributes : enable
layout(local_size_x = LOCAL_SIZE) in;
layout(binding = 0, std430) writeonly buffer Target { float target[]; };
layout(push_constant) uniform Push { uint trips; };
const uint VECTORS = LOCAL_SIZE * UNROLL;  // 8 KiB at 64 x 8; Vulkan guarantees 16 KiB
shared vec4 tile[VECTORS];

void main() {
  const uint lane = gl_LocalInvocationID.x;
  [[unroll]] for (uint i = 0; i < UNROLL; ++i) tile[lane + i * LOCAL_SIZE] = vec4(lane + i);
  barrier();
  vec4 sum = vec4(0);
  for (uint t = 0; t < trips; ++t) {
    [[unroll]] for (uint i = 0; i < UNROLL; ++i) sum += tile[(lane + t + i * LOCAL_SIZE) % VECTORS];
  }
  target[gl_GlobalInvocationID.x] = dot(sum, vec4(1));
}
