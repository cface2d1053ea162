//: B in registers: begin_b(), load_b(), load_b_tail() and b_at() are for columns what fragment/a.glsl has for
//: rows. b_at() is a vector of neighbouring columns of C. A B that is not plain has begin_rows(), begin_row(),
//: load_column(), load_part() and b_value(), of which fragment/multiply.glsl makes the others. Depends on:
//:   B_FORMAT   whether B is plain, quantised or in blocks
//:   ALONG_K_B  whether a plain B is stored n x k, else k x n
//:   PACKED_B   whether pack.comp has packed it, which also makes a quantised B plain
//:   BLOCKS_AHEAD  whether blocks are loaded a trip ahead
#if B_FORMAT == PLAIN && PACKED_B == NO && !ALONG_K_B
// A vector holds neighbouring columns at one step of k, like a vector of C.
uint b_column[REG_N / VECTOR_WIDTH_B];  // address of each vector of columns at first_step
uint b_stride, b_trip, b_walked;  // distance of steps and of trips; of the next trip from first_step
VECTOR_B b_fragment[UNROLL_K][REG_N / VECTOR_WIDTH_B];

void begin_b(uint column) {
  b_stride = ldb / VECTOR_WIDTH_B;
  b_trip = LANES_K * UNROLL_K * b_stride;
  b_walked = 0;
  [[unroll]] for (uint j = 0; j < REG_N / VECTOR_WIDTH_B; ++j)
    b_column[j] = offset_b / VECTOR_WIDTH_B + first_step * b_stride +
                  clamp_index((column + column_offset(j)) / VECTOR_WIDTH_B, (n - 1) / VECTOR_WIDTH_B);
}

void load_b(uint k0) {
  uint walked = b_walked;
  [[unroll]] for (uint u = 0; u < UNROLL_K; ++u) {
    [[unroll]] for (uint j = 0; j < REG_N / VECTOR_WIDTH_B; ++j)
      b_fragment[u][j] = fetch_b(b_column[j] + walked);
    walked += b_stride;
  }
  b_walked = LANES_K == 1 ? walked : b_walked + b_trip;
}

// Steps beyond k are zero.
void load_b_tail(uint k0) {
  [[unroll]] for (uint u = 0; u < TAIL_K; ++u) {
    const uint step = first_step + k0 + u, walked = (min(step, k - 1) - first_step) * b_stride;
    [[unroll]] for (uint j = 0; j < REG_N / VECTOR_WIDTH_B; ++j)
      b_fragment[u][j] =
          keep_first(fetch_b(b_column[j] + walked), steps_left(step) > 0 ? VECTOR_WIDTH_B : 0u);
  }
}

VECTOR_C b_at(uint u, uint j) { return b_fragment[u][j]; }
#elif B_FORMAT == PLAIN && PACKED_B == NO
// A vector holds steps of k of one column of op(B), and VECTOR_C is ELEMENT.
uint b_row[REG_N];  // address of each row of B as stored at first_step
VECTOR_B b_fragment[REG_N][UNROLL_K / VECTOR_WIDTH_B];

void begin_b(uint column) {
  [[unroll]] for (uint j = 0; j < REG_N; ++j)
    b_row[j] = (offset_b + clamp_index(column + column_offset(j), n - 1) * ldb + first_step) /
               VECTOR_WIDTH_B;
}

void load_b(uint k0) {
  [[unroll]] for (uint j = 0; j < REG_N; ++j)
    [[unroll]] for (uint v = 0; v < UNROLL_K / VECTOR_WIDTH_B; ++v)
      b_fragment[j][v] = fetch_b(b_row[j] + k0 / VECTOR_WIDTH_B + v);
}

// Steps beyond k are zero.
void load_b_tail(uint k0) {
  const uint first = first_step / VECTOR_WIDTH_B;
  [[unroll]] for (uint v = 0; v < TAIL_K / VECTOR_WIDTH_B; ++v) {
    const uint step = first + k0 / VECTOR_WIDTH_B + v;
    const uint present = min(step, (k - 1) / VECTOR_WIDTH_B) - first;
    [[unroll]] for (uint j = 0; j < REG_N; ++j)
      b_fragment[j][v] =
          keep_first(fetch_b(b_row[j] + present), steps_left(step * VECTOR_WIDTH_B));
  }
}

VECTOR_C b_at(uint u, uint j) {
  return component(b_fragment[j][u / VECTOR_WIDTH_B], u % VECTOR_WIDTH_B);
}
#elif B_FORMAT == PLAIN
// Panels of TILE_N columns, each [k][TILE_N], padded with zeros.
uint b_panel;
VECTOR_B b_fragment[UNROLL_K][REG_N / VECTOR_WIDTH_B];

void begin_b(uint column) {
  const uint padded_k = (depth + UNROLL_K - 1) / UNROLL_K * UNROLL_K;
  b_panel = (offset_b + column / TILE_N * (TILE_N * padded_k) + column % TILE_N) / VECTOR_WIDTH_B;
}

void load_b(uint k0) {
  [[unroll]] for (uint u = 0; u < UNROLL_K; ++u)
    [[unroll]] for (uint j = 0; j < REG_N / VECTOR_WIDTH_B; ++j)
      b_fragment[u][j] =
          fetch_b(b_panel + k0 * (TILE_N / VECTOR_WIDTH_B) +
                  (u * (TILE_N / VECTOR_WIDTH_B) + column_offset(j) / VECTOR_WIDTH_B));
}

// The padding is zero.
void load_b_tail(uint k0) {
  [[unroll]] for (uint u = 0; u < TAIL_K; ++u)
    [[unroll]] for (uint j = 0; j < REG_N / VECTOR_WIDTH_B; ++j)
      b_fragment[u][j] =
          fetch_b(b_panel + k0 * (TILE_N / VECTOR_WIDTH_B) +
                  (u * (TILE_N / VECTOR_WIDTH_B) + column_offset(j) / VECTOR_WIDTH_B));
}

VECTOR_C b_at(uint u, uint j) { return b_fragment[u][j]; }
#elif B_FORMAT == QUANTIZED
#include "fragment/b_quantized.glsl"
#elif !BLOCKS_AHEAD
#include "fragment/b_blocks.glsl"
#else
#include "fragment/b_blocks_ahead.glsl"
#endif
