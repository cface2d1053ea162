// What float, vec2 and vec4 share, so that a kernel is written once for every vector width.
float component(float x, uint i) { return x; }
float component(vec2 x, uint i) { return x[i]; }
float component(vec4 x, uint i) { return x[i]; }

// The first count components, zero in the others. A select, not a product: NaN and Inf must go.
float keep(float x, uint count) { return count > 0 ? x : 0.0; }
vec2 keep(vec2 x, uint count) { return mix(vec2(0), x, lessThan(uvec2(0, 1), uvec2(count))); }
vec4 keep(vec4 x, uint count) { return mix(vec4(0), x, lessThan(uvec4(0, 1, 2, 3), uvec4(count))); }
