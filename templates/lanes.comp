#version 450
// Vectors of four that a lane sends to all lanes of its subgroup: UNROLL of them an invocation and trip.
#extension GL_KHR_shader_subgroup_basic : enable
#extension GL_KHR_shader_subgroup_ballot : enable
#ifndef LOCAL_SIZE
#define LOCAL_SIZE 64
#endif
layout(local_size_x = LOCAL_SIZE) in;
layout(binding = 0, std430) writeonly buffer Target { float target[]; };
layout(push_constant) uniform Push { uint trips; };

void main() {
  vec4 own = vec4(gl_LocalInvocationID.x), sum = vec4(0);
  for (uint t = 0; t < trips; ++t) {
    // The lane of a broadcast has to be a constant of the text.
    sum += subgroupBroadcast(own, 0) + subgroupBroadcast(own, 1) + subgroupBroadcast(own, 2) +
           subgroupBroadcast(own, 3);
    own += vec4(1);
  }
  target[gl_GlobalInvocationID.x] = dot(sum, vec4(1));
}
