// C := alpha * A * B + beta * C for a C of few rows or few columns, where memory bandwidth is the
// limit. LANES_K invocations share one block of REG_M x REG_N elements of C: each takes every
// LANES_K-th group of UNROLL_K steps of k, and their sums are added at the end in a fixed order.
//
//  k:  | lane 0 | lane 1 | ... | lane LANES_K - 1 | lane 0 | lane 1 | ...
//      |<------------- TILE_K steps ------------->|
//:
//: TILE_M, TILE_N    a workgroup's block of C; REG_M, REG_N: an invocation's
//: TILE_K, UNROLL_K  steps of k in a trip of all invocations, and of one (TAIL_K: behind the whole trips)
//: SHARES_A          A lies in shared memory; BLOCKS_AHEAD: and the words of B are loaded a trip ahead
//: K_FASTEST         1: neighbouring invocations lie along k
#extension GL_EXT_control_flow_attributes : enable
#include "common/elements.glsl"

layout(local_size_x = (TILE_K / UNROLL_K) * (TILE_M / REG_M) * (TILE_N / REG_N)) in;

const uint LANES_M = TILE_M / REG_M;
const uint LANES_N = TILE_N / REG_N;
const uint LANES_K = TILE_K / UNROLL_K;
const uint LOCAL_SIZE = LANES_M * LANES_N * LANES_K;

VECTOR_C sums[REG_M][REG_N / VECTOR_WIDTH_C];
uint lane_k;      // the invocation's place among those that share a block of C
uint first_step;  // its first step of k

// Distance, in elements of C, of the i-th row and of the j-th vector of columns from the
// invocation's first.
uint row_offset(uint i) { return i; }
uint column_offset(uint j) { return j * LANES_N * VECTOR_WIDTH_C; }

#include "common/problem.glsl"
#include "common/vectors.glsl"
#include "common/edge.glsl"
#include "common/raster.glsl"
#include "load/operand.glsl" for A
#if B_FORMAT == PLAIN
#include "load/operand.glsl" for B
#endif
#if SHARES_A
#include "fragment/a_shared.glsl"
#else
#include "fragment/a.glsl"
#endif
#include "fragment/b.glsl"
#include "fragment/multiply.glsl"

// The loop over k. LANES_K invocations alternate every UNROLL_K steps. All of them make the same
// number of whole trips, so that the loop is uniform; what is left of k is less than one trip, in
// which each invocation masks its own steps, TAIL_K (the longest vector along k) at a time.
#if !SHARES_A
void run_k_loop() {
  uint k0 = 0;
  for (; k0 + TILE_K <= k; k0 += TILE_K) {
    load_a(k0);
    load_b(k0);
    multiply(UNROLL_K);
  }
  for (uint u = 0; u < UNROLL_K && first_step + k0 + u < k; u += TAIL_K) {
    load_a_tail(k0 + u);
    load_b_tail(k0 + u);
    multiply(TAIL_K);
  }
}
#elif !BLOCKS_AHEAD
// A lies in shared memory and comes a trip ahead. All invocations reach the barriers of
// put_tile_a() equally often.
void run_k_loop() {
  if (k == 0) return;
  uint k0 = 0;
  fetch_tile_a(k0);
  for (; k0 + TILE_K <= k; k0 += TILE_K) {
    put_tile_a();
    fetch_tile_a(k0 + TILE_K);
    load_a(k0);
    load_b(k0);
    multiply(UNROLL_K);
  }
  if (k0 < k) put_tile_a();
  for (uint u = 0; u < UNROLL_K && first_step + k0 + u < k; u += TAIL_K) {
    load_a_tail(k0 + u);
    load_b_tail(k0 + u);
    multiply(TAIL_K);
  }
}
#else
// A lies in shared memory, and both A and the words of B come a trip ahead
// (fragment/b_blocks_ahead.glsl). What is left of k is loaded where it is multiplied. Every trip
// says where its words come from, so that compilers know. All invocations reach the barriers of
// put_tile_a() equally often.
void run_k_loop() {
  if (k == 0) return;
  uint k0 = 0;
  hold_exponents();
  fetch_tile_a(k0);
  fetch_first_trip();
  for (; k0 + TILE_K <= k; k0 += TILE_K) {
    put_tile_a();
    fetch_tile_a(k0 + TILE_K);
    load_a(k0);
    words_from = LOADED;
    load_b(k0);
    multiply(UNROLL_K);
  }
  if (k0 < k) put_tile_a();
  for (uint u = 0; u < UNROLL_K && first_step + k0 + u < k; u += TAIL_K) {
    load_a_tail(k0 + u);
    words_from = AT_ONCE;
    load_b_tail(k0 + u);
    multiply(TAIL_K);
  }
}
#endif

#if STAGE == NONE
void add_lanes() {}  // LANES_K is 1: one invocation holds the whole sum
#else
// Adds the sums of the LANES_K invocations that share a block of C into those of lane 0, by a fixed
// tree, so that results repeat bit by bit. It handles one row of sums at a time to need little
// shared memory.
shared VECTOR_C partial_sums[REG_N / VECTOR_WIDTH_C][LOCAL_SIZE];

void add_lanes() {
  // Distance of neighbouring lanes of k in the workgroup.
  const uint step = K_FASTEST == 1 ? 1 : LANES_M * LANES_N;
  const uint self = gl_LocalInvocationIndex;
  [[unroll]] for (uint i = 0; i < REG_M; ++i) {
    [[unroll]] for (uint j = 0; j < REG_N / VECTOR_WIDTH_C; ++j) partial_sums[j][self] = sums[i][j];
    for (uint half_lanes = LANES_K / 2; half_lanes > 0; half_lanes /= 2) {
      barrier();
      if (lane_k < half_lanes)
        [[unroll]] for (uint j = 0; j < REG_N / VECTOR_WIDTH_C; ++j)
          partial_sums[j][self] += partial_sums[j][self + half_lanes * step];
    }
    [[unroll]] for (uint j = 0; j < REG_N / VECTOR_WIDTH_C; ++j) sums[i][j] = partial_sums[j][self];
    barrier();
  }
}
#endif

#include "epilogue/store_c.glsl"

void main() {
  begin_gemm(gl_WorkGroupID.z);
  const uvec2 tile = tile_position();
  // Neighbouring invocations lie along the dimension in which the large operand is contiguous in
  // memory: along k if K_FASTEST is 1, else along m and n.
  const uint lanes = LANES_M * LANES_N;
  lane_k = K_FASTEST == 1 ? gl_LocalInvocationIndex % LANES_K : gl_LocalInvocationIndex / lanes;
  first_step = lane_k * UNROLL_K;
  const uint lane_mn =
      K_FASTEST == 1 ? gl_LocalInvocationIndex / LANES_K : gl_LocalInvocationIndex % lanes;
  const uint row = tile.y * TILE_M + lane_mn / LANES_N * REG_M;
  const uint column = tile.x * TILE_N + lane_mn % LANES_N * VECTOR_WIDTH_C;
  [[unroll]] for (uint i = 0; i < REG_M; ++i)
    [[unroll]] for (uint j = 0; j < REG_N / VECTOR_WIDTH_C; ++j) sums[i][j] = VECTOR_C(0);
  begin_a(row);
  begin_b(column);
  run_k_loop();
  add_lanes();
  if (lane_k == 0) store_sums(tile, row, column);
}
