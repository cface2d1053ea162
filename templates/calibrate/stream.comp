#version 450
// McCalpin's STREAM kernels: c[i] = element(i), one vec4 an invocation and iteration. The loop
// strides over the grid, so that any size runs on any number of workgroups, and is repeated passes
// times, so that small sizes take measurable time.
#extension GL_GOOGLE_include_directive : enable
#extension GL_EXT_control_flow_attributes : enable
#ifndef LOCAL_SIZE
#define LOCAL_SIZE 64
#endif
#ifndef TEXEL
#define TEXEL 0
#endif
layout(local_size_x = LOCAL_SIZE) in;
#if TEXEL
layout(binding = 0) uniform samplerBuffer source_a;
layout(binding = 1) uniform samplerBuffer source_b;
vec4 read_a(uint i) { return texelFetch(source_a, int(i)); }
vec4 read_b(uint i) { return texelFetch(source_b, int(i)); }
#else
layout(binding = 0, std430) readonly buffer SourceA { vec4 source_a[]; };
layout(binding = 1, std430) readonly buffer SourceB { vec4 source_b[]; };
vec4 read_a(uint i) { return source_a[i]; }
vec4 read_b(uint i) { return source_b[i]; }
#endif
layout(binding = 2, std430) writeonly buffer Target { vec4 target[]; };
layout(push_constant) uniform Push { uint elements, passes; float scale; };

#include "calibrate/stream_triad.glsl"

void main() {
  const uint stride = gl_NumWorkGroups.x * LOCAL_SIZE;
  for (uint p = 0; p < passes; ++p)
    for (uint i = gl_GlobalInvocationID.x; i < elements; i += stride) target[i] = element(i);
}
