// McCalpin's STREAM kernels: c[i] = element(i), one vec4 an invocation and iteration. The loop
// strides over the grid, so that any size runs on any number of workgroups, and is repeated passes
// times, so that small sizes take measurable time.
#extension GL_EXT_control_flow_attributes : enable
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

// The STREAM kernel: copy and scale move 32 bytes a vec4, add and triad 48.
#if STREAM == COPY
vec4 element(uint i) { return read_a(i); }
#elif STREAM == SCALE
vec4 element(uint i) { return scale * read_a(i); }
#elif STREAM == ADD
vec4 element(uint i) { return read_a(i) + read_b(i); }
#else
vec4 element(uint i) { return read_a(i) + scale * read_b(i); }
#endif

void main() {
  const uint stride = gl_NumWorkGroups.x * LOCAL_SIZE;
  for (uint p = 0; p < passes; ++p)
    for (uint i = gl_GlobalInvocationID.x; i < elements; i += stride) target[i] = element(i);
}
