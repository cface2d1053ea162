#version 450
// Peak multiply-add rate: CHAINS independent chains of vec4 in registers, no memory in the loop.
// 8 * CHAINS * STEPS flops an invocation and trip; steps are unrolled because some compilers pay per trip.
#extension GL_EXT_control_flow_attributes : enable
#ifndef LOCAL_SIZE
#define LOCAL_SIZE 64
#endif
#ifndef CHAINS
#define CHAINS 8
#endif
#ifndef STEPS
#define STEPS 16
#endif
layout(local_size_x = LOCAL_SIZE) in;
layout(binding = 0, std430) writeonly buffer Target { float target[]; };
// multiplier and addend come from the host so that no compiler can fold the loop; 0.5 and 1 keep the values near 2.
layout(push_constant) uniform Push { uint trips; float multiplier, addend; };

void main() {
  vec4 chain[CHAINS];
  [[unroll]] for (uint i = 0; i < CHAINS; ++i) chain[i] = vec4(gl_GlobalInvocationID.x + i);
  for (uint t = 0; t < trips; ++t) {
    [[unroll]] for (uint s = 0; s < STEPS; ++s)
      [[unroll]] for (uint i = 0; i < CHAINS; ++i) chain[i] = chain[i] * multiplier + addend;
  }
  vec4 sum = vec4(0);
  [[unroll]] for (uint i = 0; i < CHAINS; ++i) sum += chain[i];
  target[gl_GlobalInvocationID.x] = dot(sum, vec4(1));
}
