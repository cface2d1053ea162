// Rate of subgroup broadcasts: four vectors of four an invocation and iteration.
#extension GL_KHR_shader_subgroup_basic : enable
#extension GL_KHR_shader_subgroup_ballot : enable
layout(local_size_x = LOCAL_SIZE) in;
layout(binding = 0, std430) writeonly buffer Target { float target[]; };
layout(push_constant) uniform Push { uint trips; };

void main() {
  vec4 own = vec4(gl_LocalInvocationID.x), sum = vec4(0);
  for (uint t = 0; t < trips; ++t) {
    // The lane of a broadcast must be a compile-time constant.
    sum += subgroupBroadcast(own, 0) + subgroupBroadcast(own, 1) + subgroupBroadcast(own, 2) +
           subgroupBroadcast(own, 3);
    own += vec4(1);
  }
  target[gl_GlobalInvocationID.x] = dot(sum, vec4(1));
}
