#version 450
// C := alpha * A * B + beta * C in registers: one invocation computes REG_M x REG_N elements of C
// and reads A and B from memory itself, without shared memory and barriers. Its columns are vectors
// that lie LANES_N vectors apart, so that neighbouring invocations read and write neighbouring
// vectors. Also the kernel of the family batched_small, with TILE_BATCH matrices of the batch in a
// workgroup.
//
// Rooftile register 8x32 4x4 u4 v4/4 raster=column: f32; A not transposed, B not transposed.
// A workgroup of 16 invocations computes 8 x 32 elements of C, an invocation 4 x 4.
// family=register tile_m=8 tile_n=32 tile_k=1 reg_m=4 reg_n=4 subgroup_m=0 subgroup_n=0 matrix_m=0 matrix_n=0 matrix_k=0 scope=subgroup vector_width_a=4 vector_width_b=4 load_path_a=buffer load_path_b=buffer stage=none stages=1 shared_pad=0 unroll_k=4 dot=1 split_k=1 reduction=ordered tile_batch=1 raster=column packed_a=no packed_b=no edge=masked subgroup_size=0 optimization=zero
#define TILE_M 8
#define TILE_N 32
#define REG_M 4
#define REG_N 4
#define VECTOR_WIDTH_A 4
#define VECTOR_WIDTH_B 4
#define UNROLL_K 4
#define TILE_BATCH 1
#define ELEMENT float
#define ELEMENT_4 vec4
#define VECTOR_A vec4
#define STORED_A vec4
#define VECTOR_B vec4
#define STORED_B vec4
#define VECTOR_WIDTH_C 4
#define VECTOR_C vec4
#define RESULT_C vec4
#define RESULT float
#define TAIL_K 4

#extension GL_EXT_control_flow_attributes : enable

layout(local_size_x = (TILE_M / REG_M) * (TILE_N / REG_N), local_size_y = TILE_BATCH) in;

const uint LANES_M = TILE_M / REG_M;
const uint LANES_N = TILE_N / REG_N;
const uint LANES_K = 1;     // an invocation handles all steps of k,
const uint first_step = 0;  // from the first one on

VECTOR_C sums[REG_M][REG_N / VECTOR_WIDTH_C];

// Distance, in elements of C, of the i-th row and of the j-th vector of columns from the
// invocation's first.
uint row_offset(uint i) { return i; }
uint column_offset(uint j) { return j * LANES_N * VECTOR_WIDTH_C; }

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

// Along m first.
uvec2 tile_position() { return gl_WorkGroupID.yx; }
uvec2 lane_position() {
  return uvec2(gl_LocalInvocationID.x / LANES_M, gl_LocalInvocationID.x % LANES_M);
}

// A storage buffer of vectors.
layout(binding = 0, std430) readonly buffer OperandA { STORED_A a[]; };
VECTOR_A fetch_a(uint vector_index) { return VECTOR_A(a[vector_index]); }

// A storage buffer of vectors.
layout(binding = 1, std430) readonly buffer OperandB { STORED_B b[]; };
VECTOR_B fetch_b(uint vector_index) { return VECTOR_B(b[vector_index]); }

// A vector holds steps of k of one row.
uint a_row[REG_M];  // address of each row at first_step
VECTOR_A a_fragment[REG_M][UNROLL_K / VECTOR_WIDTH_A];

void begin_a(uint row) {
  [[unroll]] for (uint i = 0; i < REG_M; ++i)
    a_row[i] = (offset_a + clamp_index(row + i, m - 1) * lda + first_step) / VECTOR_WIDTH_A;
}

void load_a(uint k0) {
  [[unroll]] for (uint i = 0; i < REG_M; ++i)
    [[unroll]] for (uint v = 0; v < UNROLL_K / VECTOR_WIDTH_A; ++v)
      a_fragment[i][v] = fetch_a(a_row[i] + k0 / VECTOR_WIDTH_A + v);
}

// Steps beyond k are zero.
void load_a_tail(uint k0) {
  const uint first = first_step / VECTOR_WIDTH_A;
  [[unroll]] for (uint v = 0; v < TAIL_K / VECTOR_WIDTH_A; ++v) {
    const uint step = first + k0 / VECTOR_WIDTH_A + v;
    const uint present = min(step, (k - 1) / VECTOR_WIDTH_A) - first;
    [[unroll]] for (uint i = 0; i < REG_M; ++i)
      a_fragment[i][v] =
          keep_first(fetch_a(a_row[i] + present), steps_left(step * VECTOR_WIDTH_A));
  }
}

ELEMENT a_at(uint i, uint u) {
  return component(a_fragment[i][u / VECTOR_WIDTH_A], u % VECTOR_WIDTH_A);
}

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

ELEMENT_4 product(ELEMENT x, ELEMENT_4 y) { return x * y; }

// Every invocation reads A and B by itself.
void multiply(uint steps) {
  [[unroll]] for (uint i = 0; i < REG_M; ++i)
    [[unroll]] for (uint u = 0; u < steps; ++u) {
      const ELEMENT x = a_at(i, u);
      [[unroll]] for (uint j = 0; j < REG_N / VECTOR_WIDTH_C; ++j)
        sums[i][j] += product(x, b_at(u, j));
    }
}

// Whole iterations of UNROLL_K steps, then masked ones of TAIL_K, the longest vector along k, which
// may extend beyond k.
void run_k_loop() {
  uint k0 = 0;
  for (; k0 + UNROLL_K <= k; k0 += UNROLL_K) {
    load_a(k0);
    load_b(k0);
    multiply(UNROLL_K);
  }
  for (; k0 < k; k0 += TAIL_K) {
    load_a_tail(k0);
    load_b_tail(k0);
    multiply(TAIL_K);
  }
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
  // TILE_BATCH is above 1 only for the family batched_small.
  const uint z = gl_WorkGroupID.z * TILE_BATCH + gl_LocalInvocationID.y;
  if (TILE_BATCH > 1 && z >= batch) return;
  begin_gemm(z);
  const uvec2 tile = tile_position();
  const uvec2 lane = lane_position();
  const uint row = tile.y * TILE_M + lane.y * REG_M;
  const uint column = tile.x * TILE_N + lane.x * VECTOR_WIDTH_C;
  [[unroll]] for (uint i = 0; i < REG_M; ++i)
    [[unroll]] for (uint j = 0; j < REG_N / VECTOR_WIDTH_C; ++j) sums[i][j] = VECTOR_C(0);
  begin_a(row);
  begin_b(column);
  run_k_loop();
  store_sums(tile, row, column);
}
