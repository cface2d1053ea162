// C := alpha * A * B + beta * C by tiles in shared memory.
//
//                 TILE_N              A workgroup copies tiles of A and B with TILE_K steps of k into
//         +---------------------+     shared memory, and an invocation multiplies them into REG_M x
//         | # . . . . # . . . . |     REG_N sums: blocks of 4 x 4 (#) that lie VECTOR_STRIDE_M and
//  TILE_M | . . . . . . . . . . |     VECTOR_STRIDE_N blocks apart. So neighbouring invocations (.)
//         | # . . . . # . . . . |     read neighbouring vectors of shared memory, without bank
//         | . . . . . . . . . . |     conflicts, and write neighbouring vectors of C.
//         +---------------------+
//:
//: TILE_M, TILE_N, TILE_K  a workgroup's block of C, and the steps of k in a tile
//: REG_M, REG_N            an invocation's block of C
//: STAGES, PREFETCH        how the loop over k overlaps loads and multiplications (run_k_loop)
//: UNROLL_K                steps of k a trip of the loop in multiply_tile
//: SHARED_PAD              unused elements behind each step of a tile, against bank conflicts
//: LANES                   which invocations are neighbours in C (lane_in_tile): PLAIN, BLOCKS, SUBGROUPS of
//:                         SUBGROUP_M x SUBGROUP_N
//: B_FORMAT                PLAIN, or QUANTIZED or BLOCKS: B becomes elements on the way to shared memory
//: MULTIPLIES_INT8         1: B's integers go there instead, and A is rounded to 8-bit integers, of which
//:                         ROUNDED_STEPS steps share a scale; SUMS_A: whether sums of them are multiplied
//: EDGE, RASTER, GROUPED   what the files of common/ depend on
#extension GL_EXT_control_flow_attributes : enable
#include "common/elements.glsl"

layout(local_size_x = (TILE_M / REG_M) * (TILE_N / REG_N)) in;

const uint LANES_M = TILE_M / REG_M;
const uint LANES_N = TILE_N / REG_N;
const uint LOCAL_SIZE = LANES_M * LANES_N;

ELEMENT_4 sums[REG_M][REG_N / 4];

// Positions of invocations are x along n and y along m, in vectors. VECTOR_STRIDE_* is the distance
// of two vectors of one invocation.
#if LANES == SUBGROUPS
// Invocations lie in the tile in blocks of SUBGROUP_M x SUBGROUP_N elements of C, which a subgroup
// or a part of one computes: it reads shared memory in few rows and columns.
const uint VECTOR_STRIDE_M = SUBGROUP_M / REG_M, VECTOR_STRIDE_N = SUBGROUP_N / REG_N;
uvec2 lane_in_tile() {
  const uint in_block = gl_LocalInvocationIndex % (VECTOR_STRIDE_M * VECTOR_STRIDE_N);
  const uint block = gl_LocalInvocationIndex / (VECTOR_STRIDE_M * VECTOR_STRIDE_N);
  const uint blocks_n = TILE_N / SUBGROUP_N;
  return uvec2(block % blocks_n * (SUBGROUP_N / 4) + in_block % VECTOR_STRIDE_N,
               block / blocks_n * (SUBGROUP_M / 4) + in_block / VECTOR_STRIDE_N);
}
#elif LANES == BLOCKS
// Invocations lie in the tile in blocks of 8 x 4: the 32 of a block read 4 vectors of A and 8 of B
// a step from shared memory, where 32 in one row would read 1 and 32: equal addresses are one
// access.
const uint VECTOR_STRIDE_M = LANES_M, VECTOR_STRIDE_N = LANES_N;
uvec2 lane_in_tile() {
  const uint in_block = gl_LocalInvocationIndex % 32, block = gl_LocalInvocationIndex / 32;
  return uvec2(block % (LANES_N / 8) * 8 + in_block % 8, block / (LANES_N / 8) * 4 + in_block / 8);
}
#else
// Invocations lie in the tile row by row.
const uint VECTOR_STRIDE_M = LANES_M, VECTOR_STRIDE_N = LANES_N;
uvec2 lane_in_tile() {
  return uvec2(gl_LocalInvocationIndex % LANES_N, gl_LocalInvocationIndex / LANES_N);
}
#endif

// Distance, in elements of C, of the i-th row and of the j-th vector of columns from the
// invocation's first.
uint row_offset(uint i) { return i / 4 * (VECTOR_STRIDE_M * 4) + i % 4; }
uint column_offset(uint j) { return j * (VECTOR_STRIDE_N * 4); }

#include "common/problem.glsl"
#include "common/vectors.glsl"
#include "common/edge.glsl"
#include "common/raster.glsl"
#include "load/operand.glsl" for A
#if B_FORMAT == PLAIN
#include "load/operand.glsl" for B
#endif

// Tiles of both operands in shared memory as [stage][step of k][row or column], whatever the
// operands' own layout, so that the inner loop reads vectors of four. SHARED_PAD elements at the
// end of a step spread transposing writes over the banks. A slot is the index of a vector of four,
// and a part a component of it.
const uint A_STEP = (TILE_M + SHARED_PAD) / 4, B_STEP = (TILE_N + SHARED_PAD) / 4;  // in vectors
#if MULTIPLIES_INT8
// Here an element is a word of four integers along k, and a tile has TILE_K / 4 rows of them.
// Beside the tiles lie the scales, each for ROUNDED_STEPS steps of k, and the largest magnitude of
// each vector of A, in bits.
const uint VECTORS_PER_SCALE = ROUNDED_STEPS / 4;
const uint A_STAGE = TILE_K / 4 * A_STEP, B_STAGE = TILE_K / 4 * B_STEP;
const uint A_SCALES = TILE_K / ROUNDED_STEPS * A_STEP, B_SCALES = TILE_K / ROUNDED_STEPS * B_STEP;
shared ivec4 a_tile[A_STAGE], b_tile[B_STAGE];
shared vec4 a_scales[A_SCALES], b_scales[B_SCALES];
shared uint a_largest[TILE_M * TILE_K / 4];
#else
const uint A_STAGE = TILE_K * A_STEP, B_STAGE = TILE_K * B_STEP;
shared ELEMENT_4 a_tile[STAGES * A_STAGE];
shared ELEMENT_4 b_tile[STAGES * B_STAGE];
#endif

// The l-th vector that this invocation loads of a tile of `lines` lines, which the workgroup loads
// in runs of `run` vectors: x is its position in the line, y the line. The first forms are those of
// a fixed position plus a constant, so that compilers need few registers for all l.
uvec2 load_position(uint l, uint run, uint lines) {
  const uint self = gl_LocalInvocationIndex, all_lines = run * lines;
  if (all_lines % LOCAL_SIZE == 0 && LOCAL_SIZE % run == 0) {
    const uint loads = all_lines / LOCAL_SIZE;
    return uvec2(self % run + l / loads * run, self / run + l % loads * (LOCAL_SIZE / run));
  }
  if (LOCAL_SIZE % all_lines == 0) {
    const uint runs = LOCAL_SIZE / all_lines;
    return uvec2(self % run + self / all_lines * run + l * runs * run, self / run % lines);
  }
  const uint v = self + l * LOCAL_SIZE;
  return uvec2(v % run + v / all_lines * run, v / run % lines);
}

#include "tile/operand.glsl" for A
#if B_FORMAT == PLAIN
#include "tile/operand.glsl" for B
#elif B_FORMAT == QUANTIZED
#include "tile/b_quantized.glsl"
#else
#include "tile/b_blocks.glsl"
#endif
#define PRODUCT_WIDTH 4
#include "common/product.glsl"

// Position of the invocation's first vectors in the tile: x along n and y along m, in vectors.
uvec2 lane;

#if MULTIPLIES_INT8
// The sums of the steps that share scales are integers. Where B's values are more than integers
// times scales, the products with 1 in each byte sum A's integers.
void multiply_tile(uint a_stage, uint b_stage) {
  for (uint step = 0; step < TILE_K; step += UNROLL_K)
    [[unroll]] for (uint u = 0; u < UNROLL_K; u += ROUNDED_STEPS) {
      ivec4 products[REG_M][REG_N / 4];
      int sums_a[REG_M];
      [[unroll]] for (uint i = 0; i < REG_M; ++i) {
        sums_a[i] = 0;
        [[unroll]] for (uint j = 0; j < REG_N / 4; ++j) products[i][j] = ivec4(0);
      }
      [[unroll]] for (uint w = 0; w < ROUNDED_STEPS / 4; ++w) {
        const uint word = (step + u) / 4 + w;
        ivec4 a[REG_M / 4], b[REG_N / 4];
        [[unroll]] for (uint i = 0; i < REG_M / 4; ++i)
          a[i] = a_tile[word * A_STEP + lane.y + i * VECTOR_STRIDE_M];
        [[unroll]] for (uint j = 0; j < REG_N / 4; ++j)
          b[j] = b_tile[word * B_STEP + lane.x + j * VECTOR_STRIDE_N];
        [[unroll]] for (uint i = 0; i < REG_M; ++i) {
          if (SUMS_A == 1) sums_a[i] += product(a[i / 4][i % 4], 0x01010101);
          [[unroll]] for (uint j = 0; j < REG_N / 4; ++j)
            products[i][j] += product(a[i / 4][i % 4], b[j]);
        }
      }
      const uint scale = (step + u) / ROUNDED_STEPS;
      vec4 scales_a[REG_M / 4];
      [[unroll]] for (uint i = 0; i < REG_M / 4; ++i)
        scales_a[i] = a_scales[scale * A_STEP + lane.y + i * VECTOR_STRIDE_M];
      [[unroll]] for (uint j = 0; j < REG_N / 4; ++j) {
        const uint at = scale * B_STEP + lane.x + j * VECTOR_STRIDE_N;
        const vec4 scales_b = b_scales[at];
        [[unroll]] for (uint i = 0; i < REG_M; ++i)
          sums[i][j] += sum_of_elements(scales_b, at, vec4(products[i][j]), float(sums_a[i]),
                                        scales_a[i / 4][i % 4]);
      }
    }
}
#else
void multiply_tile(uint a_stage, uint b_stage) {
  for (uint step = 0; step < TILE_K; step += UNROLL_K)
    [[unroll]] for (uint u = 0; u < UNROLL_K; ++u) {
      ELEMENT_4 a[REG_M / 4], b[REG_N / 4];
      [[unroll]] for (uint i = 0; i < REG_M / 4; ++i)
        a[i] = a_tile[a_stage + (step + u) * A_STEP + lane.y + i * VECTOR_STRIDE_M];
      [[unroll]] for (uint j = 0; j < REG_N / 4; ++j)
        b[j] = b_tile[b_stage + (step + u) * B_STEP + lane.x + j * VECTOR_STRIDE_N];
      [[unroll]] for (uint i = 0; i < REG_M; ++i)
        [[unroll]] for (uint j = 0; j < REG_N / 4; ++j)
          sums[i][j] += product(a[i / 4][i % 4], b[j]);
    }
}
#endif

// The last tile, which may extend beyond k, comes first: its masks and addresses are outside of the
// loop, which handles whole tiles only.
void run_k_loop(uint row, uint column) {
  if (k == 0) return;
  begin_tile_a(row);
  begin_tile_b(column);
  const uint last = (k - 1) / TILE_K * TILE_K;
  fetch_last_a(last);
  fetch_last_b(last);
#if MULTIPLIES_INT8
  share_largest();
  barrier();
#endif
  put_tile_a(0);
  put_tile_b(0);
#if STAGES > 2
#error the loop has one or two stages
#elif STAGES == 2
  // Two tiles in shared memory: the next one is fetched into registers before the present one is
  // multiplied, which takes one barrier a tile.
  barrier();
  uint a_stage = 0, b_stage = 0;
  for (uint k0 = 0; k0 < last; k0 += TILE_K) {
    fetch_tile_a(k0);
    fetch_tile_b(k0);
    multiply_tile(a_stage, b_stage);
    a_stage = A_STAGE - a_stage;
    b_stage = B_STAGE - b_stage;
    put_tile_a(a_stage);
    put_tile_b(b_stage);
    barrier();
  }
  multiply_tile(a_stage, b_stage);
#elif PREFETCH == AHEAD
  // One tile in shared memory: the next one is fetched into registers before the present one is
  // multiplied, so that the loads have that long.
  barrier();
  for (uint k0 = 0; k0 < last; k0 += TILE_K) {
    fetch_tile_a(k0);
    fetch_tile_b(k0);
    multiply_tile(0, 0);
#if MULTIPLIES_INT8
    share_largest();
#endif
    barrier();
    put_tile_a(0);
    put_tile_b(0);
    barrier();
  }
  multiply_tile(0, 0);
#else
  // One tile in shared memory: an invocation fetches the next one into registers while others still
  // read the present one.
  uint k0 = 0;
  while (true) {
    barrier();
    multiply_tile(0, 0);
    if (k0 == last) break;
    fetch_tile_a(k0);
    fetch_tile_b(k0);
#if MULTIPLIES_INT8
    share_largest();
#endif
    barrier();
    put_tile_a(0);
    put_tile_b(0);
    k0 += TILE_K;
  }
#endif
}

#include "epilogue/store_c.glsl"

void main() {
  begin_gemm(gl_WorkGroupID.z);
  const uvec2 tile = tile_position();
  const uint row = tile.y * TILE_M, column = tile.x * TILE_N;
  lane = lane_in_tile();
  [[unroll]] for (uint i = 0; i < REG_M; ++i)
    [[unroll]] for (uint j = 0; j < REG_N / 4; ++j) sums[i][j] = ELEMENT_4(0);
  run_k_loop(row, column);
  store_sums(tile, row + lane.y * 4, column + lane.x * 4);
}
