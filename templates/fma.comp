#version 450
// Multiply-add rate: CHAINS independent chains of vectors of four in registers, no memory in the
// loop, with a barrier a trip or without. Steps are unrolled because some compilers pay per trip.
#extension GL_GOOGLE_include_directive : enable
#extension GL_EXT_control_flow_attributes : enable
#include "elements_f32.glsl"

#ifndef LOCAL_SIZE
#define LOCAL_SIZE 64
#endif
#ifndef CHAINS
#define CHAINS 8
#endif
#ifndef STEPS
#define STEPS 16
#endif

#include "product.glsl"
#include "trip_free.glsl"

layout(local_size_x = LOCAL_SIZE) in;
layout(binding = 0, std430) writeonly buffer Target { float target[]; };
// multiplier and addend come from the host so that no compiler can fold the loop.
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
  target[gl_GlobalInvocationID.x] = float(sum.x + sum.y + sum.z + sum.w) + left_by_trips();
}
