//: B is stored in blocks: a fetch takes a group of 16 values along k of one column, which are
//: dequantised as they are written to shared memory, or stay integers (MULTIPLIES_INT8). Sizes
//: along k are powers of two, and the first step of a split of k is a multiple of TILE_K.
#include "load/blocks.glsl"

const uint B_GROUPS = TILE_K / 16;  // in a column of the tile
const uint B_LOADS = TILE_N * B_GROUPS / LOCAL_SIZE;
uvec4 b_next[B_LOADS];
vec2 b_scale[B_LOADS];
// Of each of this invocation's groups: the first byte of its row, its first step in a tile, and
// where its first value goes.
uint b_row[B_LOADS], b_step[B_LOADS], b_slot[B_LOADS], b_part[B_LOADS];
uint b_first_step;  // step of k at which this workgroup's split of k begins

void begin_tile_b(uint column0) {
  b_first_step = offset_b % ldb;
  [[unroll]] for (uint l = 0; l < B_LOADS; ++l) {
    const uvec2 v = load_position(l, B_GROUPS, TILE_N);
    b_row[l] =
        (offset_b / ldb + clamp_index(column0 + v.y, n - 1)) * (ldb / BLOCK) * BLOCK_BYTES;
    b_step[l] = v.x * 16;
#if MULTIPLIES_INT8
    b_slot[l] = v.x * 4 * B_STEP + v.y / 4;
#else
    b_slot[l] = v.x * 16 * B_STEP + v.y / 4;
#endif
    b_part[l] = v.y % 4;
  }
}

void fetch_group_b(uint l, uint step) {
  const uint block = step / BLOCK * BLOCK_BYTES, group = step % BLOCK / 16;
  b_next[l] = group_values(b_row[l], block, group, 0);
  b_scale[l] = group_scale(b_row[l], block, group, 0);
}

void fetch_tile_b(uint k0) {
  [[unroll]] for (uint l = 0; l < B_LOADS; ++l) fetch_group_b(l, b_first_step + k0 + b_step[l]);
}

// Groups beyond the end of k are not read: the first of the tile stands for them. Values beyond k
// are arbitrary finite numbers, since A is zero there.
void fetch_last_b(uint k0) {
  [[unroll]] for (uint l = 0; l < B_LOADS; ++l)
    fetch_group_b(l, b_first_step + k0 + (k0 + b_step[l] < k ? b_step[l] : 0));
}

#if MULTIPLIES_INT8
// The elements' share in C, from a sum of products of integers. The factor 1/127 of A's integers is
// already in the scales, but not in those of MXFP4, which begin at 2^-127: it would make them
// denormals.
#if SUMS_A
shared vec4 b_minimums[B_SCALES];
vec4 sum_of_elements(vec4 scales, uint at, vec4 products, float sum_a, float scale_a) {
  return (scales * products - b_minimums[at] * sum_a) * scale_a;
}
#elif BLOCK_FORMAT == MXFP4
vec4 sum_of_elements(vec4 scales, uint at, vec4 products, float sum_a, float scale_a) {
  return products * (0.5 / 127) * scale_a * scales;
}
#else
vec4 sum_of_elements(vec4 scales, uint at, vec4 products, float sum_a, float scale_a) {
  return products * scales * scale_a;
}
#endif

// Four bytes minus their zero point.
int minus_zero_point(uint x) {
  return int(SIGNED_ZERO_POINT == 0
                 ? x ^ FLIPPED_SIGNS
                 : (x | 0x80808080u) - SIGNED_ZERO_POINT * 0x01010101u ^ 0x80808080u);
}

void put_tile_b(uint stage) {
  [[unroll]] for (uint l = 0; l < B_LOADS; ++l) {
    [[unroll]] for (uint w = 0; w < 4; ++w)
      b_tile[b_slot[l] + stage + w * B_STEP][b_part[l]] = minus_zero_point(b_next[l][w]);
    if (b_step[l] % ROUNDED_STEPS == 0) {
      const uint at = b_step[l] / ROUNDED_STEPS * B_STEP + b_slot[l] % B_STEP;
#if BLOCK_FORMAT == MXFP4
      b_scales[at][b_part[l]] = b_scale[l].x;
#else
      b_scales[at][b_part[l]] = b_scale[l].x * (HALVES == 1 ? 0.5 / 127 : 1.0 / 127);
#endif
#if SUMS_A
      b_minimums[at][b_part[l]] = b_scale[l].y * (1.0 / 127);
#endif
    }
  }
}
#else
float b_value(uint l, uint u) {
  return value_minus_zero_point(b_next[l][u / 4], u % 4) * b_scale[l].x - b_scale[l].y;
}

void put_b(uint slot, uint part, ELEMENT x) { b_tile[slot][part] = x; }

void put_tile_b(uint stage) {
  [[unroll]] for (uint l = 0; l < B_LOADS; ++l)
    [[unroll]] for (uint u = 0; u < 16; ++u)
      put_b(b_slot[l] + stage + u * B_STEP, b_part[l], ELEMENT(b_value(l, u)));
}
#endif
