// The stored operand as a storage buffer: any alignment, element by element. Four elements from
// address on, zero from count on.
layout(binding = 0, std430) readonly buffer Stored { float stored[]; };
vec4 read_four(uint address, uint count) {
  vec4 x = vec4(0);
  [[unroll]] for (uint i = 0; i < 4; ++i)
    if (i < count) x[i] = stored[address + i];
  return x;
}
