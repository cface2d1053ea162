//: B is quantised: a fetch takes a word of values along k of one column, which are dequantised as
//: they are written to shared memory. Sizes along k are powers of two: either blocks divide tiles
//: or tiles divide blocks, and the first step of a split of k is a multiple of TILE_K.
#include "load/quantized.glsl"

const uint B_WORDS = TILE_K / VALUES_PER_WORD;  // in a column of the tile
// Words of a column that neighbouring invocations load: the fewer, the fewer bank conflicts have
// the transposing stores.
const uint B_RUN = B_WORDS % 2 == 0 ? 2 : B_WORDS;
const uint B_LOADS = TILE_N * B_WORDS / LOCAL_SIZE;
uint b_next[B_LOADS];
float b_scale[B_LOADS], b_zero_point[B_LOADS];
// Of each of this invocation's words: the addresses of the word in the first tile along k, of the
// scale and of its row's zero points; its block there; and where its first value goes.
uint b_address[B_LOADS], b_scale_address[B_LOADS], b_zero_point_row[B_LOADS], b_block[B_LOADS];
uint b_slot[B_LOADS], b_part[B_LOADS];
uint b_first_step;  // step of k at which this workgroup's split of k begins

void begin_tile_b(uint column0) {
  const uint blocks = ldb / QUANT_BLOCK;
  b_first_step = offset_b % ldb;
  [[unroll]] for (uint l = 0; l < B_LOADS; ++l) {
    const uvec2 v = load_position(l, B_RUN, TILE_N);
    const uint row = offset_b / ldb + clamp_index(column0 + v.y, n - 1);
    b_address[l] = (row * ldb + b_first_step) / VALUES_PER_WORD + v.x;
    b_block[l] = v.x * VALUES_PER_WORD / QUANT_BLOCK;
    b_scale_address[l] = row * blocks + b_block[l];
    b_zero_point_row[l] = zero_point_row(row, blocks);
    b_slot[l] = v.x * VALUES_PER_WORD * B_STEP + v.y / 4;
    b_part[l] = v.y % 4;
  }
}

void fetch_tile_b(uint k0) {
  const uint block = (b_first_step + k0) / QUANT_BLOCK;
  [[unroll]] for (uint l = 0; l < B_LOADS; ++l) {
    b_next[l] = word_at(fetch_words(b_address[l] + k0 / VALUES_PER_WORD), 0);
    b_scale[l] = fetch_scale(b_scale_address[l] + block);
    b_zero_point[l] = zero_point_at(b_zero_point_row[l], b_block[l] + block);
  }
}

// Words beyond the end of k are not read: the first of the tile stands for them. Values beyond k
// are arbitrary finite numbers, since A is zero there.
void fetch_last_b(uint k0) {
  const uint block = (b_first_step + k0) / QUANT_BLOCK;
  [[unroll]] for (uint l = 0; l < B_LOADS; ++l) {
    const uint x = load_position(l, B_RUN, TILE_N).x;
    const bool present = k0 + x * VALUES_PER_WORD < k;
    b_next[l] = word_at(fetch_words(b_address[l] + k0 / VALUES_PER_WORD - (present ? 0 : x)), 0);
    b_scale[l] = fetch_scale(b_scale_address[l] + block - (present ? 0 : b_block[l]));
    b_zero_point[l] = zero_point_at(b_zero_point_row[l], block + (present ? b_block[l] : 0));
  }
}

float b_value(uint l, uint u) {
  return value_minus_zero_point(b_next[l], u, b_zero_point[l]) * b_scale[l];
}

void put_b(uint slot, uint part, ELEMENT x) { b_tile[slot][part] = x; }

void put_tile_b(uint stage) {
  [[unroll]] for (uint l = 0; l < B_LOADS; ++l)
    [[unroll]] for (uint u = 0; u < VALUES_PER_WORD; ++u)
      put_b(b_slot[l] + stage + u * B_STEP, b_part[l], ELEMENT(b_value(l, u)));
}
