//: B is stored in blocks: a fetch takes a group of 16 values along k of one column, which are
//: dequantised as they are written to shared memory. Sizes along k are powers of two, and the first
//: step of a split of k is a multiple of TILE_K.
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
    b_slot[l] = v.x * 16 * B_STEP + v.y / 4;
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

float b_value(uint l, uint u) {
  return value_minus_zero_point(b_next[l][u / 4], u % 4) * b_scale[l].x - b_scale[l].y;
}

void put_b(uint slot, uint part, ELEMENT x) { b_tile[slot][part] = x; }

void put_tile_b(uint stage) {
  [[unroll]] for (uint l = 0; l < B_LOADS; ++l)
    [[unroll]] for (uint u = 0; u < 16; ++u)
      put_b(b_slot[l] + stage + u * B_STEP, b_part[l], ELEMENT(b_value(l, u)));
}
