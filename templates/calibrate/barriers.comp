// Cost of a workgroup barrier: one an iteration, with writes to shared memory that keep the
// compiler from removing it.
layout(local_size_x = LOCAL_SIZE) in;
layout(binding = 0, std430) writeonly buffer Target { float target[]; };
layout(push_constant) uniform Push { uint trips; };
shared float value[LOCAL_SIZE];

void main() {
  const uint lane = gl_LocalInvocationID.x;
  value[lane] = float(lane);
  for (uint t = 0; t < trips; ++t) {
    barrier();
    value[(lane + t) % LOCAL_SIZE] += 1.0;
  }
  barrier();
  target[gl_GlobalInvocationID.x] = value[lane];
}
