// The stored operand as texels of four elements. Rows may begin anywhere: a misaligned run is cut out of
// two texels. Four elements from address on, zero from count on; texels without any of them are
// not fetched.
#include "pack_texel.glsl"

vec4 read_four(uint address, uint count) {
  const uint shift = address % 4;
  const uint first = address / 4, last = (address + max(count, 1u) - 1) / 4;
  const vec4 low = stored_texel(first);
  if ((ld | offset) % 4 == 0) return keep(low, count);
  const vec4 high = stored_texel(last == first ? first : first + 1);
  const vec4 x = shift == 0 ? low
                 : shift == 1 ? vec4(low.yzw, high.x)
                 : shift == 2 ? vec4(low.zw, high.xy)
                              : vec4(low.w, high.xyz);
  return keep(x, count);
}
