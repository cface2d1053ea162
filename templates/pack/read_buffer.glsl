// Reads four elements of a storage buffer from address on, one by one, with zeros from count on.
// Any alignment is allowed.
#include "pack/element_32.glsl"

vec4 read_four(uint address, uint count) {
  vec4 x = vec4(0);
  [[unroll]] for (uint i = 0; i < 4; ++i)
    if (i < count) x[i] = stored_element(address + i);
  return x;
}
