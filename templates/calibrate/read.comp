// Bandwidth of reading a buffer, the limit of kernels that read much and write little: 16 bytes a
// vec4 and pass. Neighbouring invocations read neighbouring vectors, or, with PIECES, each
// invocation reads a contiguous piece of its own.
#extension GL_EXT_control_flow_attributes : enable
#define UNROLL 4  // sums of an invocation
layout(local_size_x = LOCAL_SIZE) in;
#if TEXEL
layout(binding = 0) uniform samplerBuffer source;
vec4 read(uint i) { return texelFetch(source, int(i)); }
#else
layout(binding = 0, std430) readonly buffer Source { vec4 source[]; };
vec4 read(uint i) { return source[i]; }
#endif
layout(binding = 1, std430) writeonly buffer Target { vec4 target[]; };
layout(push_constant) uniform Push { uint elements, passes; };

void main() {
  const uint invocations = gl_NumWorkGroups.x * LOCAL_SIZE;
#if PIECES
  const uint piece = (elements + invocations - 1) / invocations;
  const uint begin = gl_GlobalInvocationID.x * piece;
  const uint end = min(elements, begin + piece);
  const uint stride = 1;
#else
  const uint begin = gl_GlobalInvocationID.x;
  const uint end = elements;
  const uint stride = invocations;
#endif
  vec4 sums[UNROLL];
  [[unroll]] for (uint u = 0; u < UNROLL; ++u) sums[u] = vec4(0);
  for (uint p = 0; p < passes; ++p) {
    uint i = begin;
    for (; i + (UNROLL - 1) * stride < end; i += UNROLL * stride)
      [[unroll]] for (uint u = 0; u < UNROLL; ++u) sums[u] += read(i + u * stride);
    for (; i < end; i += stride) sums[0] += read(i);
  }
  [[unroll]] for (uint u = 1; u < UNROLL; ++u) sums[0] += sums[u];
  target[gl_GlobalInvocationID.x] = sums[0];
}
