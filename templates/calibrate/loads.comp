// Rate of loads that hit a cache: UNROLL independent loads an invocation and iteration from a small
// window.
#extension GL_EXT_control_flow_attributes : enable
layout(local_size_x = LOCAL_SIZE) in;
#if TEXEL
layout(binding = 0) uniform samplerBuffer source;
#if WIDTH == 4
vec4 load(uint i) { return texelFetch(source, int(i)); }
#else
vec4 load(uint i) { return vec4(texelFetch(source, int(i)).x, 0, 0, 0); }
#endif
#else
#if WIDTH == 4
layout(binding = 0, std430) readonly buffer Source { vec4 source[]; };
vec4 load(uint i) { return source[i]; }
#else
layout(binding = 0, std430) readonly buffer Source { float source[]; };
vec4 load(uint i) { return vec4(source[i], 0, 0, 0); }
#endif
#endif
layout(binding = 1, std430) writeonly buffer Target { float target[]; };
// window: number of elements (of WIDTH) that are read, a power of two and at least
// LOCAL_SIZE * UNROLL
layout(push_constant) uniform Push { uint trips, window; };

void main() {
  vec4 sum = vec4(0);
  uint index = gl_LocalInvocationID.x;
  for (uint t = 0; t < trips; ++t) {
    [[unroll]] for (uint i = 0; i < UNROLL; ++i) sum += load((index + i * LOCAL_SIZE) & (window - 1));
    index += LOCAL_SIZE;
  }
  target[gl_GlobalInvocationID.x] = dot(sum, vec4(1));
}
