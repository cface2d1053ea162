#version 450
// C := alpha * A * B + beta * C by tiles in shared memory.
//
//                 TILE_N              A workgroup copies tiles of A and B with TILE_K steps of k into
//         +---------------------+     shared memory, and an invocation multiplies them into REG_M x
//         | # . . . . # . . . . |     REG_N sums: blocks of 4 x 4 (#) that lie VECTOR_STRIDE_M and
//  TILE_M | . . . . . . . . . . |     VECTOR_STRIDE_N blocks apart. So neighbouring invocations (.)
//         | # . . . . # . . . . |     read neighbouring vectors of shared memory, without bank
//         | . . . . . . . . . . |     conflicts, and write neighbouring vectors of C.
//         +---------------------+
//
// Rooftile tiled 64x32x16 4x4 u8 v4/4 2 stages shared_pad=4: f32; A transposed, B transposed.
// A workgroup of 128 invocations computes 64 x 32 elements of C, an invocation 4 x 4.
// family=tiled tile_m=64 tile_n=32 tile_k=16 reg_m=4 reg_n=4 subgroup_m=0 subgroup_n=0 matrix_m=0 matrix_n=0 matrix_k=0 scope=subgroup vector_width_a=4 vector_width_b=4 load_path_a=buffer load_path_b=buffer stage=shared stages=2 shared_pad=4 unroll_k=8 dot=1 split_k=1 reduction=ordered tile_batch=1 raster=row packed_a=no packed_b=no edge=masked subgroup_size=0 optimization=zero
#define TILE_M 64
#define TILE_N 32
#define TILE_K 16
#define REG_M 4
#define REG_N 4
#define VECTOR_WIDTH_A 4
#define VECTOR_WIDTH_B 4
#define STAGES 2
#define SHARED_PAD 4
#define UNROLL_K 8
#define ELEMENT float
#define ELEMENT_4 vec4
#define VECTOR_A vec4
#define STORED_A vec4
#define VECTOR_B vec4
#define STORED_B vec4
#define VECTOR_WIDTH_C 4
#define RESULT_C vec4
#define RESULT float

#extension GL_EXT_control_flow_attributes : enable

layout(local_size_x = (TILE_M / REG_M) * (TILE_N / REG_N)) in;

const uint LANES_M = TILE_M / REG_M;
const uint LANES_N = TILE_N / REG_N;
const uint LOCAL_SIZE = LANES_M * LANES_N;

ELEMENT_4 sums[REG_M][REG_N / 4];

// Positions of invocations are x along n and y along m, in vectors. VECTOR_STRIDE_* is the distance
// of two vectors of one invocation.
// Invocations lie in the tile in blocks of 8 x 4: the 32 of a block read 4 vectors of A and 8 of B
// a step from shared memory, where 32 in one row would read 1 and 32: equal addresses are one
// access.
const uint VECTOR_STRIDE_M = LANES_M, VECTOR_STRIDE_N = LANES_N;
uvec2 lane_in_tile() {
  const uint in_block = gl_LocalInvocationIndex % 32, block = gl_LocalInvocationIndex / 32;
  return uvec2(block % (LANES_N / 8) * 8 + in_block % 8, block / (LANES_N / 8) * 4 + in_block / 8);
}

// Distance, in elements of C, of the i-th row and of the j-th vector of columns from the
// invocation's first.
uint row_offset(uint i) { return i / 4 * (VECTOR_STRIDE_M * 4) + i % 4; }
uint column_offset(uint j) { return j * (VECTOR_STRIDE_N * 4); }

// Byte for byte GemmPushConstants of generator/emit.h.
layout(push_constant) uniform Problem {
  uint m, n, depth, lda, ldb, ldc;  // depth: the problem's k
  float alpha, beta;
  uint base_a, base_b, base_c;        // offsets of the batch's first matrices
  uint stride_a, stride_b, stride_c;  // from a matrix to the next; of C, from a z of the grid
  uint step_a, step_b;                // from a step of k to the next
  uint batch, split_depth;            // matrices in the batch; steps of k in one split
};

// C := alpha * AB + beta * C.
float finish(float sum, float old, uint row, uint column) { return alpha * sum + old; }
RESULT_C finish(RESULT_C sum, RESULT_C old, uint row, uint column) { return alpha * sum + old; }

// What this workgroup computes: its number of steps of k, and the offsets of its operands.
uint k, offset_a, offset_b, offset_c;

// The grid's z counts the matrices of the batch, and all of them again for every further split of
// k.
void begin_gemm(uint z) {
  const uint batch_index = z % batch, first_step = z / batch * split_depth;
  k = min(depth - first_step, split_depth);
  offset_a = base_a + batch_index * stride_a + first_step * step_a;
  offset_b = base_b + batch_index * stride_b + first_step * step_b;
  offset_c = base_c + z * stride_c;
}

ELEMENT component(ELEMENT_4 x, uint i) { return x[i]; }

// x with zeros behind its first count components. It selects, since a multiplication by zero would
// keep NaN and infinity.
ELEMENT_4 keep_first(ELEMENT_4 x, uint count) {
  return mix(ELEMENT_4(0), x, lessThan(uvec4(0, 1, 2, 3), uvec4(count)));
}

// Tiles may extend beyond m, n and k. For a row of A or a column of B beyond the edge the last one
// is read instead, since it contributes only to elements of C that are never stored. For steps
// beyond k, addresses are clamped and values are set to zero.
uint clamp_index(uint index, uint last) { return min(index, last); }
uint steps_left(uint k0) { return k - min(k0, k); }
bool columns_inside(uvec2 tile) { return (tile.x + 1) * TILE_N <= n; }

// Along n first.
uvec2 tile_position() { return gl_WorkGroupID.xy; }

// A storage buffer of vectors.
layout(binding = 0, std430) readonly buffer OperandA { STORED_A a[]; };
VECTOR_A fetch_a(uint vector_index) { return VECTOR_A(a[vector_index]); }

// A storage buffer of vectors.
layout(binding = 1, std430) readonly buffer OperandB { STORED_B b[]; };
VECTOR_B fetch_b(uint vector_index) { return VECTOR_B(b[vector_index]); }

// Tiles of both operands in shared memory as [stage][step of k][row or column], whatever the
// operands' own layout, so that the inner loop reads vectors of four. SHARED_PAD elements at the
// end of a step spread transposing writes over the banks. A slot is the index of a vector of four,
// and a part a component of it.
const uint A_STEP = (TILE_M + SHARED_PAD) / 4, B_STEP = (TILE_N + SHARED_PAD) / 4;  // in vectors
const uint A_STAGE = TILE_K * A_STEP, B_STAGE = TILE_K * B_STEP;
shared ELEMENT_4 a_tile[STAGES * A_STAGE];
shared ELEMENT_4 b_tile[STAGES * B_STAGE];

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

void put_a(uint slot, uint part, ELEMENT_4 x) { a_tile[slot] = x; }

// Vectors run along m, as they do in shared memory.
const uint A_VECTORS = TILE_M / VECTOR_WIDTH_A;  // in a step of the tile
const uint A_LOADS = TILE_K * A_VECTORS / LOCAL_SIZE;
VECTOR_A a_next[A_LOADS];
// Of each of this invocation's vectors: its address in the first tile along k, and where it goes.
uint a_address[A_LOADS], a_slot[A_LOADS], a_part[A_LOADS];
uint a_tile_stride, a_walked;  // distance of tiles along k, and of the next tile from the first

void begin_tile_a(uint row0) {
  [[unroll]] for (uint l = 0; l < A_LOADS; ++l) {
    const uvec2 v = load_position(l, A_VECTORS, TILE_K);
    a_address[l] = offset_a / VECTOR_WIDTH_A + v.y * (lda / VECTOR_WIDTH_A) +
                   clamp_index(row0 / VECTOR_WIDTH_A + v.x, (m - 1) / VECTOR_WIDTH_A);
    a_slot[l] = v.y * A_STEP + v.x * VECTOR_WIDTH_A / 4;
    a_part[l] = v.x * VECTOR_WIDTH_A % 4;
  }
  a_tile_stride = TILE_K * (lda / VECTOR_WIDTH_A);
  a_walked = 0;
}

void fetch_tile_a(uint k0) {
  [[unroll]] for (uint l = 0; l < A_LOADS; ++l) a_next[l] = fetch_a(a_address[l] + a_walked);
  a_walked += a_tile_stride;
}

void fetch_last_a(uint k0) {
  [[unroll]] for (uint l = 0; l < A_LOADS; ++l) {
    const uint y = load_position(l, A_VECTORS, TILE_K).y, present = clamp_index(k0 + y, k - 1);
    a_next[l] = keep_first(fetch_a(a_address[l] + (present - y) * (lda / VECTOR_WIDTH_A)),
                           steps_left(k0 + y) > 0 ? VECTOR_WIDTH_A : 0u);
  }
}

void put_tile_a(uint stage) {
  [[unroll]] for (uint l = 0; l < A_LOADS; ++l)
    put_a(a_slot[l] + stage, a_part[l], a_next[l]);
}

void put_b(uint slot, uint part, ELEMENT x) { b_tile[slot][part] = x; }

// Vectors run along k and are transposed as they are written to shared memory.
const uint B_VECTORS = TILE_K / VECTOR_WIDTH_B;  // in a row of the tile
// Vectors of a line that neighbouring invocations load: with two, the transposing stores of 32
// invocations go to 32 banks (tests/generator/bank_conflicts_test.cpp).
const uint B_RUN = VECTOR_WIDTH_B == 4 && B_VECTORS % 2 == 0 ? 2 : B_VECTORS;
const uint B_LOADS = TILE_N * B_VECTORS / LOCAL_SIZE;
VECTOR_B b_next[B_LOADS];
// Of each of this invocation's vectors: its address in the first tile along k, and where its first
// element goes.
uint b_address[B_LOADS], b_slot[B_LOADS], b_part[B_LOADS];

void begin_tile_b(uint column0) {
  [[unroll]] for (uint l = 0; l < B_LOADS; ++l) {
    const uvec2 v = load_position(l, B_RUN, TILE_N);
    b_address[l] = (offset_b + clamp_index(column0 + v.y, n - 1) * ldb) / VECTOR_WIDTH_B + v.x;
    b_slot[l] = v.x * VECTOR_WIDTH_B * B_STEP + v.y / 4;
    b_part[l] = v.y % 4;
  }
}

void fetch_tile_b(uint k0) {
  [[unroll]] for (uint l = 0; l < B_LOADS; ++l)
    b_next[l] = fetch_b(b_address[l] + k0 / VECTOR_WIDTH_B);
}

void fetch_last_b(uint k0) {
  [[unroll]] for (uint l = 0; l < B_LOADS; ++l) {
    const uint x = load_position(l, B_RUN, TILE_N).x, step = k0 / VECTOR_WIDTH_B + x;
    const uint present = clamp_index(step, (k - 1) / VECTOR_WIDTH_B);
    b_next[l] = keep_first(fetch_b(b_address[l] - x + present), steps_left(step * VECTOR_WIDTH_B));
  }
}

void put_tile_b(uint stage) {
  [[unroll]] for (uint l = 0; l < B_LOADS; ++l)
    [[unroll]] for (uint w = 0; w < VECTOR_WIDTH_B; ++w)
      put_b(b_slot[l] + stage + w * B_STEP, b_part[l], component(b_next[l], w));
}

ELEMENT_4 product(ELEMENT x, ELEMENT_4 y) { return x * y; }

// Position of the invocation's first vectors in the tile: x along n and y along m, in vectors.
uvec2 lane;

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

// The last tile, which may extend beyond k, comes first: its masks and addresses are outside of the
// loop, which handles whole tiles only.
void run_k_loop(uint row, uint column) {
  if (k == 0) return;
  begin_tile_a(row);
  begin_tile_b(column);
  const uint last = (k - 1) / TILE_K * TILE_K;
  fetch_last_a(last);
  fetch_last_b(last);
  put_tile_a(0);
  put_tile_b(0);
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
}

#define C_BINDING 2
layout(binding = C_BINDING, std430) buffer OperandC { RESULT c[]; };
layout(binding = C_BINDING, std430) buffer OperandCVectors { RESULT_C c_vectors[]; };
RESULT load_c(uint i) { return c[i]; }
void store_c(uint i, RESULT x) { c[i] = x; }
RESULT_C load_c_vector(uint i) { return c_vectors[i / VECTOR_WIDTH_C]; }
void store_c_vector(uint i, RESULT_C x) { c_vectors[i / VECTOR_WIDTH_C] = x; }

void store_elements(uint c_index, uint columns, RESULT_C sum, uint row, uint column) {
  [[unroll]] for (uint w = 0; w < VECTOR_WIDTH_C; ++w)
    if (w < columns) {
      RESULT old = RESULT(0);
      if (beta != 0.0) old = RESULT(beta) * load_c(c_index + w);  // at beta 0 C may hold NaN
      store_c(c_index + w, finish(sum[w], old, row, column + w));
    }
}

void store_vector(bool whole, RESULT_C sum, uint row, uint column) {
  const uint c_index = offset_c + row * ldc + column;
  if (whole) {
    RESULT_C old = RESULT_C(0);
    if (beta != 0.0) old = RESULT(beta) * load_c_vector(c_index);
    store_c_vector(c_index, finish(sum, old, row, column));
  } else if (column < n) {
    store_elements(c_index, n - column, sum, row, column);
  }
}

// The loop over rows is not unrolled: lavapipe 22.3 needs 15 s to compile an unrolled store of 32 x
// 16 sums, and 0.2 s for this loop. Each iteration stores row 0 of the sums and moves the others up
// by one, since an index that is no constant would force the sums out of registers.
void store_sums(uvec2 tile, uint row, uint column) {
  const bool vectors = columns_inside(tile) && (ldc | offset_c) % VECTOR_WIDTH_C == 0;
  [[dont_unroll]] for (uint i = 0; i < REG_M && row + row_offset(i) < m; ++i) {
    [[unroll]] for (uint j = 0; j < REG_N / VECTOR_WIDTH_C; ++j)
      store_vector(vectors, RESULT_C(sums[0][j]), row + row_offset(i), column + column_offset(j));
    [[unroll]] for (uint next = 1; next < REG_M; ++next)
      [[unroll]] for (uint j = 0; j < REG_N / VECTOR_WIDTH_C; ++j)
        sums[next - 1][j] = sums[next][j];
  }
}

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
