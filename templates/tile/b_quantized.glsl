//: B is quantised: a fetch takes a word of values along k of one column, which are dequantised as
//: they are written to shared memory, or stay integers (MULTIPLIES_INT8). Sizes along k are powers
//: of two: either blocks divide tiles or tiles divide blocks, and the first step of a split of k is
//: a multiple of TILE_K.
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
#if MULTIPLIES_INT8
    b_slot[l] = v.x * (VALUES_PER_WORD / 4) * B_STEP + v.y / 4;
#else
    b_slot[l] = v.x * VALUES_PER_WORD * B_STEP + v.y / 4;
#endif
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

#if MULTIPLIES_INT8
// The elements' share in C, from a sum of products of integers. Integers of four bits minus 8, where
// that is the zero point, fit into bytes, and so do those of eight bits minus 128. Other zero points
// multiply sums of A.
#if SUMS_A
const uint ZERO_POINTS = 0;
shared vec4 b_zero_points[B_SCALES];
vec4 sum_of_elements(vec4 scales, uint at, vec4 products, float sum_a, float scale_a) {
  const vec4 values = products + float(INTEGER_OFFSET) * sum_a;  // exact
  return (values - b_zero_points[at] * sum_a) * (1.0 / 127) * scale_a * scales;
}
#else
const uint ZERO_POINTS = QUANT_BITS == 4 ? 0x08080808u : 0;
vec4 sum_of_elements(vec4 scales, uint at, vec4 products, float sum_a, float scale_a) {
  return products * (1.0 / 127) * scale_a * scales;
}
#endif

void put_tile_b(uint stage) {
  [[unroll]] for (uint l = 0; l < B_LOADS; ++l) {
    [[unroll]] for (uint w = 0; w < VALUES_PER_WORD / 4; ++w) {
      const uint x = uint(four_integers(b_next[l], w));
      b_tile[b_slot[l] + stage + w * B_STEP][b_part[l]] =
          int(ZERO_POINTS == 0 ? x : (x | 0x80808080u) - ZERO_POINTS ^ 0x80808080u);
    }
    const uint step = b_slot[l] / B_STEP * 4;
    if (step % ROUNDED_STEPS == 0) {
      const uint at = step / ROUNDED_STEPS * B_STEP + b_slot[l] % B_STEP;
      b_scales[at][b_part[l]] = b_scale[l];
#if SUMS_A
      b_zero_points[at][b_part[l]] = b_zero_point[l];
#endif
    }
  }
}
#else
float b_value(uint l, uint u) {
  return value_minus_zero_point(b_next[l], u, b_zero_point[l]) * b_scale[l];
}

void put_b(uint slot, uint part, ELEMENT x) { b_tile[slot][part] = x; }

void put_tile_b(uint stage) {
  [[unroll]] for (uint l = 0; l < B_LOADS; ++l)
    [[unroll]] for (uint u = 0; u < VALUES_PER_WORD; ++u)
      put_b(b_slot[l] + stage + u * B_STEP, b_part[l], ELEMENT(b_value(l, u)));
}
#endif
