// Reads four elements of a buffer of four-element texels from address on, with zeros from count on.
// Rows may begin at any address: a misaligned run is taken from two texels. A texel without any of
// the count elements is not fetched.
#include "pack/texel_float.glsl"

vec4 read_four(uint address, uint count) {
  const uint shift = address % 4;
  const uint first = address / 4, last = (address + max(count, 1u) - 1) / 4;
  const vec4 low = stored_texel(first);
  if ((ld | offset) % 4 == 0) return keep_first(low, count);
  const vec4 high = stored_texel(last == first ? first : first + 1);
  const vec4 x = shift == 0 ? low
                 : shift == 1 ? vec4(low.yzw, high.x)
                 : shift == 2 ? vec4(low.zw, high.xy)
                              : vec4(low.w, high.xyz);
  return keep_first(x, count);
}
