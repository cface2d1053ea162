//: Pack kernels read four neighbouring elements of the stored operand at a time: read_four() takes
//: those from element `address` on as float32 (float64 as float64), with zeros from the count-th on. Depends on B_FORMAT
//: (PLAIN for A, too), LOAD_PATH_B and TYPE.

#if B_FORMAT == PLAIN && LOAD_PATH_B == BUFFER
// Out of a storage buffer, one by one. Any alignment is allowed.
#if TYPE == F32
layout(binding = 0, std430) readonly buffer Stored { float stored[]; };
float stored_element(uint address) { return stored[address]; }
#elif TYPE == F64
layout(binding = 0, std430) readonly buffer Stored { double stored[]; };
double stored_element(uint address) { return stored[address]; }
#elif TYPE == F16 || TYPE == BF16
layout(binding = 0, std430) readonly buffer Stored { uint stored_words[]; };
float stored_element(uint address) { return widen(stored_words[address / 2])[address % 2]; }
#else
layout(binding = 0, std430) readonly buffer Stored { BYTE_WORD stored_words[]; };
float stored_element(uint address) {
  return float(bitfieldExtract(stored_words[address / 4], int(address % 4 * 8), 8));
}
#endif

ELEMENT_4 read_four(uint address, uint count) {
  ELEMENT_4 x = ELEMENT_4(0);
  [[unroll]] for (uint i = 0; i < 4; ++i)
    if (i < count) x[i] = stored_element(address + i);
  return x;
}

#elif B_FORMAT == PLAIN
// Out of a buffer of texels of four elements. Rows may begin at any address: a misaligned run is
// taken from two texels. A texel without any of the count elements is not fetched.
#if TYPE == BF16
layout(binding = 0) uniform usamplerBuffer stored;
vec4 stored_texel(uint i) { return uintBitsToFloat(texelFetch(stored, int(i)) << 16); }
#elif TYPE == I8
layout(binding = 0) uniform isamplerBuffer stored;
vec4 stored_texel(uint i) { return vec4(texelFetch(stored, int(i))); }
#elif TYPE == U8
layout(binding = 0) uniform usamplerBuffer stored;
vec4 stored_texel(uint i) { return vec4(texelFetch(stored, int(i))); }
#else  // float32, or float16, which the device converts
layout(binding = 0) uniform samplerBuffer stored;
vec4 stored_texel(uint i) { return texelFetch(stored, int(i)); }
#endif

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

#elif B_FORMAT == QUANTIZED
// Out of one word, which holds values of one row along depth.
#include "load/quantized.glsl"

vec4 read_four(uint address, uint count) {
  const uint row = address / ld, step = address % ld;
  const uint index = address / VALUES_PER_WORD;
  const uint word = word_at(fetch_words(index / WORD_VECTOR_WIDTH), index % WORD_VECTOR_WIDTH);
  const uint block = step / QUANT_BLOCK, blocks = ld / QUANT_BLOCK;
  const float scale = fetch_scale(row * blocks + block), zero = zero_point_of(row, block, blocks);
  vec4 x;
  [[unroll]] for (uint i = 0; i < 4; ++i)
    x[i] = value_minus_zero_point(word, step % VALUES_PER_WORD + i, zero) * scale;
  return keep_first(x, count);
}

#else
// Out of a block, which holds values of one row along depth. The first one's step is a multiple of
// four.
#include "load/blocks.glsl"

vec4 read_four(uint address, uint count) {
  const uint step = address % ld;
  const uint block = address / BLOCK * BLOCK_BYTES;  // rows are whole blocks
  const uint group = step % BLOCK / 16;
  const uint values = group_values_word(0, block, group, step % 16 / 4);
  const vec2 scale = group_scale(0, block, group, 0);
  vec4 x;
  [[unroll]] for (uint i = 0; i < 4; ++i)
    x[i] = value_minus_zero_point(values, i) * scale.x - scale.y;
  return keep_first(x, count);
}
#endif
