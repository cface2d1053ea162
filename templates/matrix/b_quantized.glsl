//: Tiles of a quantised B, stored n x k: an invocation fetches values along k of one column, those
//: of a word or four of a block, which fill one vector in shared memory. Beside a float16 A they are
//: dequantised to float16 on the way. Else only their integers go there, as bfloat16 numbers, and what
//: dequantises them lies in tiles of its own: a value is its integer times a scale, plus an addend.
//: Values beyond k are arbitrary finite numbers, since A is zero there.
//:
//: B_FORMAT                    QUANTIZED: words of values (load/quantized.glsl), or BLOCKS of a GGUF file
//:                             (load/blocks.glsl)
//: VECTOR_WIDTH_B              words of pairs of values that a load becomes
//: STAGES                      tiles in shared memory
//: STORE_ROWS_B, STORE_STEP_B  in which order invocations store columns
//: SCALES_SUMS                 of matrix.comp; then SCALE_K, the steps of k that share a scale, and HAS_ADDENDS,
//:                             whether addends differ from 0
#if B_FORMAT == BLOCKS
#include "load/blocks.glsl"
const uint VALUES_PER_WORD = 4;  // that a load unpacks
#else
#include "load/quantized.glsl"
#endif

#if SCALES_SUMS
// A column of op(B): its number in the buffer, or its first byte. From a step of it on, a word of integers and
// their zero point, and the scale and the addend that make values of them.
#if B_FORMAT == BLOCKS
uint line_b(uint column) { return (offset_b / ldb + column) * (ldb / BLOCK) * BLOCK_BYTES; }
uint word_b(uint line, uint step) {
  return group_values_word(line, step / BLOCK * BLOCK_BYTES, step % BLOCK / 16, step % 16 / 4);
}
vec2 scale_b(uint line, uint step) {
  return group_scale(line, step / BLOCK * BLOCK_BYTES, step % BLOCK / 16, 0) * vec2(1, -1);
}
#define zero_point_b(line, step) 0.0
#define integer_in(word, i, zero_point) value_minus_zero_point(word, i)
#else
uint line_b(uint column) { return offset_b / ldb + column; }
uint word_b(uint line, uint step) { return word_at(fetch_words((line * ldb + step) / VALUES_PER_WORD), 0); }
#if HAS_ADDENDS
#define zero_point_b(line, step) 0.0
vec2 scale_b(uint line, uint step) {
  const float scale = fetch_scale((line * ldb + step) / QUANT_BLOCK);
  return vec2(scale, -scale * zero_point_of(line, step / QUANT_BLOCK, ldb / QUANT_BLOCK));
}
#else
#define zero_point_b(line, step) zero_point_of(line, (step) / QUANT_BLOCK, ldb / QUANT_BLOCK)
vec2 scale_b(uint line, uint step) { return vec2(fetch_scale((line * ldb + step) / QUANT_BLOCK), 0); }
#endif
#define integer_in(word, i, zero_point) value_minus_zero_point(word, i, zero_point)
#endif

// Bfloat16 holds integers of eight bits.
VECTOR_B integers(uint word, float zero_point) {
  VECTOR_B halves;
  [[unroll]] for (uint i = 0; i < VALUES_PER_WORD; i += 2)
    halves[i / 2] = floatBitsToUint(integer_in(word, i, zero_point)) >> 16 |
                    floatBitsToUint(integer_in(word, i + 1, zero_point));
  return halves;
}

// An element in memory.
float element_b(uint step, uint column) {
  const uint at = offset_b % ldb + step, line = line_b(column);
  const vec2 scale = scale_b(line, at);
  return integer_in(word_b(line, at), at % VALUES_PER_WORD, zero_point_b(line, at)) * scale.x + scale.y;
}
#elif B_FORMAT == BLOCKS
VECTOR_B dequantized(uint word, vec2 scale) {
  VECTOR_B halves;
  [[unroll]] for (uint i = 0; i < VALUES_PER_WORD; i += 2)
    halves[i / 2] = packHalf2x16(vec2(value_minus_zero_point(word, i),
                                      value_minus_zero_point(word, i + 1)) * scale.x - scale.y);
  return halves;
}
#else
// The values of a word, as float16.
VECTOR_B dequantized(uint word, float scale, float zero_point) {
  VECTOR_B halves;
  [[unroll]] for (uint i = 0; i < VALUES_PER_WORD; i += 2)
    halves[i / 2] = packHalf2x16(vec2(value_minus_zero_point(word, i, zero_point),
                                      value_minus_zero_point(word, i + 1, zero_point)) * scale);
  return halves;
}
#endif

const uint B_WORDS = TILE_K / VALUES_PER_WORD;  // in a column of the tile
const uint B_LOADS = TILE_N * B_WORDS;
const uint B_LOADS_EACH = (B_LOADS + LOCAL_SIZE - 1) / LOCAL_SIZE;
#if STORE_STEP_B > 1
#define position_b(l) row_position(l, B_LOADS, B_WORDS, STORE_ROWS_B, STORE_STEP_B)
#else
#define position_b(l) load_position(l, B_LOADS, B_WORDS)
#endif
#if SCALES_SUMS && HAS_ADDENDS
// Behind the columns of a tile lie ones, which multiply A to the sums of its rows.
const uint ONES = MATRIX_K / SHARED_ELEMENTS;
shared SHARED_VECTOR b_tile[STAGES][TILE_N * SHARED_STRIDE + ONES];
#else
shared SHARED_VECTOR b_tile[STAGES][TILE_N * SHARED_STRIDE];
#endif
uint b_next[B_LOADS_EACH];
#if SCALES_SUMS
// Scales, and addends behind them, by groups of SCALE_K steps and columns.
const uint GROUPS_K = TILE_K / SCALE_K, SCALES = GROUPS_K * TILE_N;
const uint SCALES_EACH = (SCALES + LOCAL_SIZE - 1) / LOCAL_SIZE;
shared uint b_scales[STAGES][SCALES * (1 + HAS_ADDENDS)];
vec2 b_scale[SCALES_EACH];
float b_zero_point[B_LOADS_EACH];
uint b_line[B_LOADS_EACH], b_scale_line[SCALES_EACH];
// Column and group of a scale that an invocation fetches. Without one left, it repeats the last one.
uvec2 scale_position(uint l) {
  const uint i = min(gl_LocalInvocationIndex + l * LOCAL_SIZE, SCALES - 1);
  return uvec2(i / GROUPS_K, i % GROUPS_K);
}
#elif B_FORMAT == BLOCKS
vec2 b_scale[B_LOADS_EACH];
uint b_row[B_LOADS_EACH];  // first byte of a column of op(B)
#else
float b_scale[B_LOADS_EACH], b_zero_point[B_LOADS_EACH];
uint b_column[B_LOADS_EACH];  // of the buffer, whose columns are ldb values
#endif
uint b_tile_start;  // first step of the next tile

void begin_tiles_b(uint column0) {
  b_tile_start = offset_b % ldb;
#if SCALES_SUMS
  [[unroll]] for (uint l = 0; l < B_LOADS_EACH; ++l)
    b_line[l] = line_b(clamp_index(column0 + position_b(l).x, n - 1));
  [[unroll]] for (uint l = 0; l < SCALES_EACH; ++l)
    b_scale_line[l] = line_b(clamp_index(column0 + scale_position(l).x, n - 1));
#elif B_FORMAT == BLOCKS
  [[unroll]] for (uint l = 0; l < B_LOADS_EACH; ++l) {
    const uint column = clamp_index(column0 + position_b(l).x, n - 1);
    b_row[l] = (offset_b / ldb + column) * (ldb / BLOCK) * BLOCK_BYTES;
  }
#else
  [[unroll]] for (uint l = 0; l < B_LOADS_EACH; ++l)
    b_column[l] = offset_b / ldb + clamp_index(column0 + position_b(l).x, n - 1);
#endif
#if SCALES_SUMS && HAS_ADDENDS
  for (uint i = gl_LocalInvocationIndex; i < STAGES * ONES; i += LOCAL_SIZE)
    put_shared(b_tile[i / ONES][TILE_N * SHARED_STRIDE + i % ONES], SHARED_VECTOR(0x3f803f80u));
#endif
}

#if SCALES_SUMS
void fetch_word_b(uint l, uint step) {
  b_next[l] = word_b(b_line[l], step);
  b_zero_point[l] = zero_point_b(b_line[l], step);
}
#elif B_FORMAT == BLOCKS
void fetch_word_b(uint l, uint step) {
  const uint block = step / BLOCK * BLOCK_BYTES, group = step % BLOCK / 16;
  b_next[l] = group_values_word(b_row[l], block, group, step % 16 / 4);
  b_scale[l] = group_scale(b_row[l], block, group, 0);
}
#else
// The word with a step of the buffer of load l's column, and the scale and zero point of its block.
void fetch_word_b(uint l, uint step) {
  const uint value = b_column[l] * ldb + step;
  b_next[l] = word_at(fetch_words(value / VALUES_PER_WORD), 0);
  b_scale[l] = fetch_scale(value / QUANT_BLOCK);
  b_zero_point[l] = zero_point_of(b_column[l], step / QUANT_BLOCK, ldb / QUANT_BLOCK);
}
#endif

uint step_of_b(uint l) { return position_b(l).y * VALUES_PER_WORD; }

void fetch_tile_b() {
  [[unroll]] for (uint l = 0; l < B_LOADS_EACH; ++l)
    fetch_word_b(l, b_tile_start + step_of_b(l));
#if SCALES_SUMS
  [[unroll]] for (uint l = 0; l < SCALES_EACH; ++l)
    b_scale[l] = scale_b(b_scale_line[l], b_tile_start + scale_position(l).y * SCALE_K);
#endif
  b_tile_start += TILE_K;
}

void fetch_last_tile_b(uint k0) {
  [[unroll]] for (uint l = 0; l < B_LOADS_EACH; ++l) {
    const uint step = k0 + step_of_b(l);
    fetch_word_b(l, b_tile_start + (step < k ? step : 0));
  }
#if SCALES_SUMS
  [[unroll]] for (uint l = 0; l < SCALES_EACH; ++l) {
    const uint step = k0 + scale_position(l).y * SCALE_K;
    b_scale[l] = scale_b(b_scale_line[l], b_tile_start + (step < k ? step : 0));
  }
#endif
}

void put_tile_b(uint stage) {
  [[unroll]] for (uint l = 0; l < B_LOADS_EACH; ++l) {
#if !WHOLE_LOADS_B
    if (!has_load(l, B_LOADS)) break;
#endif
    const uvec2 at = position_b(l);
#if SCALES_SUMS
    const VECTOR_B halves = integers(b_next[l], b_zero_point[l]);
#elif B_FORMAT == BLOCKS
    const VECTOR_B halves = dequantized(b_next[l], b_scale[l]);
#else
    const VECTOR_B halves = dequantized(b_next[l], b_scale[l], b_zero_point[l]);
#endif
#if VECTOR_WIDTH_B == SHARED_WORDS
    put_shared(b_tile[stage][at.x * SHARED_STRIDE + at.y], halves);
#else
    [[unroll]] for (uint w = 0; w < VECTOR_WIDTH_B; ++w) {
      const uint to = at.y * VECTOR_WIDTH_B + w;  // in words of a column
      put_word(word_in(b_tile[stage][at.x * SHARED_STRIDE + to / SHARED_WORDS], to),
               word_of(halves, w));
    }
#endif
  }
#if SCALES_SUMS
  [[unroll]] for (uint l = 0; l < SCALES_EACH; ++l) {
    if (SCALES % LOCAL_SIZE > 0 && !has_load(l, SCALES)) break;
    const uvec2 at = scale_position(l);
    put_word(b_scales[stage][at.y * TILE_N + at.x], floatBitsToUint(b_scale[l].x));
#if HAS_ADDENDS
    put_word(b_scales[stage][SCALES + at.y * TILE_N + at.x], floatBitsToUint(b_scale[l].y));
#endif
  }
#endif
}

#define fragment_b(stage, step, column)                                                  \
  coopMatLoadSharedB(b_tile[stage], (column) * SHARED_STRIDE + (step) / SHARED_ELEMENTS, \
                     CooperativeMatrixLayoutColumnMajor, SHARED_STRIDE, NonPrivate)
#if SCALES_SUMS
// Scales or addends from a step and a column of the tile on, the same in all rows.
#define scales_b(stage, step, column, first) \
  coopMatLoadSharedC(b_scales[stage], (first) + (step) / SCALE_K * TILE_N + (column), \
                     CooperativeMatrixLayoutRowMajor, 0, NonPrivate)
#define ones_b(stage) \
  coopMatLoadSharedB(b_tile[stage], TILE_N * SHARED_STRIDE, CooperativeMatrixLayoutColumnMajor, 0, NonPrivate)
#endif
