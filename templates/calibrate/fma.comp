// Rate of multiply-adds: CHAINS independent chains of vectors of four in registers, without memory
// accesses in the loop, and with or without a barrier an iteration. STEPS are unrolled, since some
// compilers add a cost to every iteration.
#extension GL_EXT_control_flow_attributes : enable
#include "common/elements.glsl"

#define PRODUCT_WIDTH 4
#include "common/product.glsl"

#if SYNCHRONISED
// Every iteration begins with a barrier, with a write to shared memory that keeps the compiler from
// removing it.
shared uint counters[LOCAL_SIZE];
void begin_trip(uint t) {
  barrier();
  counters[(gl_LocalInvocationIndex + t) % LOCAL_SIZE] += 1u;
}
float trip_residue() { return float(counters[gl_LocalInvocationIndex]); }
#else
void begin_trip(uint t) {}
float trip_residue() { return 0; }
#endif

layout(local_size_x = LOCAL_SIZE) in;
layout(binding = 0, std430) writeonly buffer Target { float target[]; };
// multiplier and addend are push constants so that the compiler cannot fold the loop.
layout(push_constant) uniform Push {
  uint trips;
  float multiplier, addend;
};

void main() {
  const ELEMENT factor = ELEMENT(multiplier);
  const ELEMENT_4 summand = ELEMENT_4(addend);
  ELEMENT_4 chain[CHAINS];
  [[unroll]] for (uint i = 0; i < CHAINS; ++i) chain[i] = ELEMENT_4(gl_GlobalInvocationID.x % 64 + i);
  for (uint t = 0; t < trips; ++t) {
    begin_trip(t);
    [[unroll]] for (uint s = 0; s < STEPS; ++s)
      [[unroll]] for (uint i = 0; i < CHAINS; ++i) chain[i] = product(factor, chain[i]) + summand;
  }
  ELEMENT_4 sum = ELEMENT_4(0);
  [[unroll]] for (uint i = 0; i < CHAINS; ++i) sum += chain[i];
  target[gl_GlobalInvocationID.x] = float(sum.x + sum.y + sum.z + sum.w) + trip_residue();
}
