// The stored operand as a storage buffer: any alignment, element by element. Four elements from
// address on, zero from count on.
#include "pack_element.glsl"

vec4 read_four(uint address, uint count) {
  vec4 x = vec4(0);
  [[unroll]] for (uint i = 0; i < 4; ++i)
    if (i < count) x[i] = stored_element(address + i);
  return x;
}
