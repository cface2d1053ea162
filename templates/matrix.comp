// C := alpha * A * B + beta * C by matrix units (cooperative matrices) of subgroup scope.
//
//                   TILE_N                     A workgroup computes TILE_M x TILE_N elements of C,
//         +---+---+---+---+---------------+    a subgroup of it (or SUBGROUPS_K that share its
//         |   |   |   |   |               |    steps of k) SUBGROUP_M x SUBGROUP_N, as fragments
//         +---+---+---+---+               |    of MATRIX_M x MATRIX_N, whose sums stay in registers.
//  TILE_M |   |   |   |   |               |    The loop over k (run_k_loop) takes tiles of TILE_K:
//         +---+---+---+---+---------------+      fetch     tiles of A and B, memory to registers
//         |               |               |      put       registers to shared memory
//         |  SUBGROUP_M x |               |      multiply  the unit loads fragments of the tiles
//         |    SUBGROUP_N |               |                and adds their products to the sums
//         +---------------+---------------+
//
// Operands are read as 32-bit words, so that the device needs no 8-bit or 16-bit storage. They keep
// their stored type, but a quantised B becomes float16, and float32 three bfloat16 parts.
//:
//: What limits it, on an H200: with one tile in shared memory a trip is one chain of these parts, of
//: which multiplications are less than half, and a second workgroup that fits into shared memory
//: overlaps it (bench/results/nvidia-h200-kernels.md).
//:
//: TILE_M, TILE_N, TILE_K        a workgroup's block of C, and the steps of k in a tile
//: SUBGROUP_M, SUBGROUP_N        a subgroup's block of C; SUBGROUP_SIZE is its number of invocations
//: SUBGROUPS_K                   subgroups that share a block of C: each multiplies a part of the steps of each
//:                               tile, and matrix/store.glsl adds their sums
//: MATRIX_M, MATRIX_N, MATRIX_K  what the unit multiplies at once
//: UNROLL_K                      steps of k a trip of the loop in multiply_tile
//: LOAD_PATH_A, LOAD_PATH_B      DIRECT: fragments are loaded from memory; else from shared memory
//: PACKED_A, PACKED_B            whether a pack kernel has laid fragments side by side (DIRECT)
//: ALONG_K_A, ALONG_K_B          whether the operand is stored along k: A as m x k, B as n x k
//: PARTS                         3, or 2 where they may be rounded to half: operands are float32, split into
//:                               bfloat16 parts (matrix/split.glsl); else 1
//: B_FORMAT                      PLAIN, or QUANTIZED or BLOCKS (matrix/b_quantized.glsl)
//: SCALES_SUMS                   whether the integers of a quantised B are multiplied, and their sums by scales
//: STAGE                         SHARED, STORED: tiles lie in shared memory along k, or in the order of memory;
//:                               NONE: both operands are DIRECT
//: STAGES                        how many tiles of an operand lie in shared memory: 1, or 2
//: PREFETCH                      with one tile: NONE; AHEAD, the next one is fetched before the present one is
//:                               multiplied; PEELED, that with copies of the code for the first and last trip
//: PEELS_LAST_TILE               with PREFETCH NONE: a copy of the code for the tile at the end of k
//: SHARED_PAD, SHARED_WORDS      rows of tiles (matrix/shared_memory.glsl)
//: EDGE, RASTER, GROUPED         what the files of common/ depend on
//: FRAGMENT_STORES, C_TILE       how sums become C (matrix/store.glsl)
#extension GL_EXT_control_flow_attributes : enable
#extension GL_KHR_shader_subgroup_basic : enable
#pragma use_vulkan_memory_model
#include "common/elements.glsl"
#include "matrix/cooperative_matrix.glsl"

const uint SUBGROUPS_M = TILE_M / SUBGROUP_M;
const uint SUBGROUPS_N = TILE_N / SUBGROUP_N;
const uint FRAGMENTS_M = SUBGROUP_M / MATRIX_M;  // in a subgroup's block
const uint FRAGMENTS_N = SUBGROUP_N / MATRIX_N;

layout(local_size_x = LOCAL_SIZE) in;

#include "common/problem.glsl"
#include "matrix/load_counts.glsl" for A
#include "matrix/load_counts.glsl" for B
#include "matrix/shared_memory.glsl"
#include "common/edge.glsl"
#include "common/raster.glsl"

#if PARTS > 1
#include "matrix/split.glsl" for A
#elif LOAD_PATH_A == DIRECT
#include "matrix/direct.glsl" for A
#else
#include "matrix/staged.glsl" for A
#endif

#if B_FORMAT != PLAIN
#include "matrix/b_quantized.glsl"
#elif PARTS > 1
#include "matrix/split.glsl" for B
#elif LOAD_PATH_B == DIRECT
#include "matrix/direct.glsl" for B
#else
#include "matrix/staged.glsl" for B
#endif

// Sums stay in registers only if compilers know every index: loops over them are unrolled and have no
// loop inside that is not (tests/generator/matrix_loop_test.cpp).
MatrixC sums[FRAGMENTS_M][FRAGMENTS_N];
uint subgroup_row, subgroup_column;  // first row and column of the subgroup's block in the tile

#if SUBGROUPS_K > 1
uint subgroup_step;  // the first of the tile's steps that this subgroup multiplies
#define tile_step(step) (subgroup_step + step)
#else
#define tile_step(step) (step)
#endif

#if SCALES_SUMS
// The unit multiplies A, of its parts the smallest first, by the integers of B. Their sums over the
// steps that share a scale are multiplied by it and added to the others, by operations that round, and so
// are products of the sums of A's rows and the addends.
const uint OPERATIONS = SCALE_K / MATRIX_K;  // along the steps that share a scale
void multiply_tile(uint stage) {
#if HAS_ADDENDS
  const MatrixB ones = ones_b(stage);
#endif
  for (uint step = 0; step < TILE_K / SUBGROUPS_K; step += UNROLL_K)
    [[unroll]] for (uint u = 0; u < UNROLL_K; u += SCALE_K) {
      MatrixB fragment[FRAGMENTS_N][OPERATIONS];
      [[unroll]] for (uint j = 0; j < FRAGMENTS_N; ++j)
        [[unroll]] for (uint o = 0; o < OPERATIONS; ++o)
          fragment[j][o] =
              fragment_b(stage, tile_step(step + u + o * MATRIX_K), subgroup_column + j * MATRIX_N);
      MatrixC products[FRAGMENTS_M][FRAGMENTS_N];
      [[unroll]] for (uint i = 0; i < FRAGMENTS_M; ++i)
        [[unroll]] for (uint j = 0; j < FRAGMENTS_N; ++j) products[i][j] = coopmatC(ELEMENT(0));
#if HAS_ADDENDS
      MatrixC row_sums[FRAGMENTS_M];
      [[unroll]] for (uint i = 0; i < FRAGMENTS_M; ++i) row_sums[i] = coopmatC(ELEMENT(0));
#endif
      [[unroll]] for (uint part = 1; part <= PARTS; ++part)
        [[unroll]] for (uint o = 0; o < OPERATIONS; ++o)
          [[unroll]] for (uint i = 0; i < FRAGMENTS_M; ++i) {
            const MatrixA of_a = fragment_part_a(stage, PARTS - part, subgroup_row + i * MATRIX_M,
                                                 tile_step(step + u + o * MATRIX_K));
            [[unroll]] for (uint j = 0; j < FRAGMENTS_N; ++j)
              products[i][j] = coopMatMulAdd(of_a, fragment[j][o], products[i][j]);
#if HAS_ADDENDS
            row_sums[i] = coopMatMulAdd(of_a, ones, row_sums[i]);
#endif
          }
      [[unroll]] for (uint j = 0; j < FRAGMENTS_N; ++j) {
        const uint column = subgroup_column + j * MATRIX_N;
        const MatrixC scales = scales_b(stage, tile_step(step + u), column, 0);
        [[unroll]] for (uint i = 0; i < FRAGMENTS_M; ++i)
          sums[i][j] = coopMatAdd(sums[i][j], coopMatMul(products[i][j], scales));
#if HAS_ADDENDS
        const MatrixC addends = scales_b(stage, tile_step(step + u), column, SCALES);
        [[unroll]] for (uint i = 0; i < FRAGMENTS_M; ++i)
          sums[i][j] = coopMatAdd(sums[i][j], coopMatMul(row_sums[i], addends));
#endif
      }
    }
}
#elif PARTS > 1
// The product of two numbers is that of all pairs of their parts. The smallest pairs are left out: of
// three parts together 2^-23 of it at most, of two parts 2^-16. Units truncate what they add to, so the pairs of one step
// are added first, in the order of their size, and their sum is added to the others by an addition
// that rounds (generator/layout.h has the bound).
#define multiply_parts(of_a, of_b)                  \
  [[unroll]] for (uint i = 0; i < FRAGMENTS_M; ++i) \
    products[i] = coopMatMulAdd(fragments[i][of_a], fragment[of_b], products[i])
void multiply_tile(uint stage) {
  for (uint step = 0; step < TILE_K / SUBGROUPS_K; step += UNROLL_K)
    [[unroll]] for (uint u = 0; u < UNROLL_K; u += MATRIX_K) {
      MatrixA fragments[FRAGMENTS_M][PARTS];
      [[unroll]] for (uint i = 0; i < FRAGMENTS_M; ++i)
        [[unroll]] for (uint part = 0; part < PARTS; ++part)
          fragments[i][part] =
              fragment_part_a(stage, part, subgroup_row + i * MATRIX_M, tile_step(step + u));
      [[unroll]] for (uint j = 0; j < FRAGMENTS_N; ++j) {
        MatrixB fragment[PARTS];
        [[unroll]] for (uint part = 0; part < PARTS; ++part)
          fragment[part] =
              fragment_part_b(stage, part, tile_step(step + u), subgroup_column + j * MATRIX_N);
        MatrixC products[FRAGMENTS_M];
        [[unroll]] for (uint i = 0; i < FRAGMENTS_M; ++i) products[i] = coopmatC(ELEMENT(0));
#if PARTS > 2
        multiply_parts(0, 2);
        multiply_parts(1, 1);
        multiply_parts(2, 0);
#endif
        multiply_parts(0, 1);
        multiply_parts(1, 0);
        multiply_parts(0, 0);
        [[unroll]] for (uint i = 0; i < FRAGMENTS_M; ++i)
          sums[i][j] = coopMatAdd(sums[i][j], products[i]);
      }
    }
}
#else
void multiply_tile(uint stage) {
  for (uint step = 0; step < TILE_K / SUBGROUPS_K; step += UNROLL_K)
    [[unroll]] for (uint u = 0; u < UNROLL_K; u += MATRIX_K) {
      MatrixA fragments[FRAGMENTS_M];
      [[unroll]] for (uint i = 0; i < FRAGMENTS_M; ++i)
        fragments[i] = fragment_a(stage, subgroup_row + i * MATRIX_M, tile_step(step + u));
      [[unroll]] for (uint j = 0; j < FRAGMENTS_N; ++j) {
        const MatrixB fragment = fragment_b(stage, tile_step(step + u), subgroup_column + j * MATRIX_N);
        [[unroll]] for (uint i = 0; i < FRAGMENTS_M; ++i)
          sums[i][j] = coopMatMulAdd(fragments[i], fragment, sums[i][j]);
      }
    }
}
#endif

// The tile at the end of k is multiplied first: fetch_last_tile_* masks what lies beyond k, so that the
// loop over the others needs no masks (tests/generator/matrix_loop_test.cpp).
void run_k_loop(uint row, uint column) {
  if (k == 0) return;
  begin_tiles_a(row);
  begin_tiles_b(column);
  uint tiles = (k - 1) / TILE_K;  // whole tiles besides the last one
  fetch_last_tile_a(tiles * TILE_K);
  fetch_last_tile_b(tiles * TILE_K);
#if STAGE == NONE
  // No tiles in shared memory, and so no barriers in the loop: put only takes over the fetched addresses.
  for (;;) {
    put_tile_a(0);
    put_tile_b(0);
    multiply_tile(0);
    if (tiles == 0) break;
    --tiles;
    fetch_tile_a();
    fetch_tile_b();
  }
#elif STAGES == 2
  // Two tiles in shared memory and a third in registers. For each tile the loop puts the next one
  // where nobody reads, fetches the one after that and multiplies: one barrier a tile, behind which
  // the next tile is there and nobody reads this one any more, and the loads have as long as a
  // tile takes. The body handles two tiles, so that the stage is a literal and addresses in shared
  // memory are offsets of instructions.
  put_tile_a(0);
  put_tile_b(0);
  if (tiles > 0) {
    fetch_tile_a();
    fetch_tile_b();
  }
  tile_barrier();
  for (; tiles > 2; tiles -= 2) {
    put_tile_a(1);
    put_tile_b(1);
    fetch_tile_a();
    fetch_tile_b();
    multiply_tile(0);
    tile_barrier();
    put_tile_a(0);
    put_tile_b(0);
    fetch_tile_a();
    fetch_tile_b();
    multiply_tile(1);
    tile_barrier();
  }
  // The last one to three tiles.
  for (uint stage = 0;; stage = 1 - stage) {
    if (tiles > 0) {
      put_tile_a(1 - stage);
      put_tile_b(1 - stage);
    }
    if (tiles > 1) {
      fetch_tile_a();
      fetch_tile_b();
    }
    multiply_tile(stage);
    if (tiles == 0) break;
    --tiles;
    tile_barrier();
  }
#elif PREFETCH == AHEAD
  // One tile in shared memory: the next one is fetched before the present one is multiplied, so that the
  // loads have that long. The first barrier of a trip waits until nobody reads the present tile, the
  // second until the next one is there.
  put_tile_a(0);
  put_tile_b(0);
  tile_barrier();
  for (; tiles > 0; --tiles) {
    fetch_tile_a();
    fetch_tile_b();
    multiply_tile(0);
    tile_barrier();
    put_tile_a(0);
    put_tile_b(0);
    tile_barrier();
  }
  multiply_tile(0);
#elif PREFETCH == PEELED
  // One tile in shared memory, the next one fetched before the present one is multiplied, and copies of
  // the code that multiplies for the first and the last trip. NVIDIA's compiler in Mesa (NAK) gives the sums
  // registers in the first copy, and the loop leaves them there: 66 instead of 436 other instructions beside
  // 32 matrix operations. NVIDIA's own compiler moves no sums either way (H200: 549 us, AHEAD 503).
  put_tile_a(0);
  put_tile_b(0);
  tile_barrier();
  if (tiles > 0) {
    fetch_tile_a();
    fetch_tile_b();
  }
  multiply_tile(0);
  for (; tiles > 1; --tiles) {
    tile_barrier();
    put_tile_a(0);
    put_tile_b(0);
    tile_barrier();
    fetch_tile_a();
    fetch_tile_b();
    multiply_tile(0);
  }
  if (tiles > 0) {
    tile_barrier();
    put_tile_a(0);
    put_tile_b(0);
    tile_barrier();
    multiply_tile(0);
  }
#elif PEELS_LAST_TILE
  // One tile in shared memory: an invocation fetches the next one while others still read the present
  // one. The tile at the end of k, the first, has a copy of the code that multiplies. NVIDIA's and Intel's
  // compilers in Mesa (NAK, BRW) need it to give the sums registers in which the loop can leave them:
  // without it, NAK moves each sum twice a trip (15 moves for a matrix operation, not 1).
  put_tile_a(0);
  put_tile_b(0);
  tile_barrier();
  multiply_tile(0);
  for (; tiles > 0; --tiles) {
    fetch_tile_a();
    fetch_tile_b();
    tile_barrier();
    put_tile_a(0);
    put_tile_b(0);
    tile_barrier();
    multiply_tile(0);
  }
#else
  // One tile in shared memory: an invocation fetches the next one while others still read the present
  // one. There is only one copy of the code that multiplies.
  put_tile_a(0);
  put_tile_b(0);
  for (;;) {
    tile_barrier();
    multiply_tile(0);
    if (tiles == 0) break;
    --tiles;
    fetch_tile_a();
    fetch_tile_b();
    tile_barrier();
    put_tile_a(0);
    put_tile_b(0);
  }
#endif
}

#include "matrix/store.glsl"

void main() {
  begin_gemm(gl_WorkGroupID.z);
  const uvec2 tile = tile_position();
  const uint row = tile.y * TILE_M, column = tile.x * TILE_N;
#if SUBGROUPS_K > 1
  const uint blocks = SUBGROUPS_M * SUBGROUPS_N, block = gl_SubgroupID % blocks;
  subgroup_step = gl_SubgroupID / blocks * (TILE_K / SUBGROUPS_K);
#else
  const uint block = gl_SubgroupID;
#endif
  subgroup_row = block / SUBGROUPS_N * SUBGROUP_M;
  subgroup_column = block % SUBGROUPS_N * SUBGROUP_N;
  [[unroll]] for (uint i = 0; i < FRAGMENTS_M; ++i)
    [[unroll]] for (uint j = 0; j < FRAGMENTS_N; ++j) sums[i][j] = coopmatC(ELEMENT(0));
  run_k_loop(row, column);
  store_sums(tile, row + subgroup_row, column + subgroup_column);
}
