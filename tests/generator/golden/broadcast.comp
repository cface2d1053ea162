#version 450
// C := alpha * A * B + beta * C by subgroups. A workgroup is one subgroup. Its lanes lie along n
// and share all rows of the tile (REG_M equals TILE_M), so that every value of A is loaded once and
// broadcast to all lanes. The columns of a lane are vectors that lie SUBGROUP_SIZE vectors apart.
//
// Rooftile broadcast 16x64 16x8 u8 v4/4 texel/texel packed ab stage=subgroup raster=column: f32; A not transposed and packed, B not transposed and packed.
// A workgroup of 8 invocations computes 16 x 64 elements of C, an invocation 16 x 8.
// family=broadcast tile_m=16 tile_n=64 tile_k=1 reg_m=16 reg_n=8 subgroup_m=0 subgroup_n=0 matrix_m=0 matrix_n=0 matrix_k=0 scope=subgroup vector_width_a=4 vector_width_b=4 load_path_a=texel load_path_b=texel stage=subgroup stages=1 shared_pad=0 unroll_k=8 dot=1 split_k=1 reduction=ordered tile_batch=1 raster=column packed_a=yes packed_b=yes edge=masked subgroup_size=8 optimization=zero
#define TILE_M 16
#define TILE_N 64
#define REG_M 16
#define REG_N 8
#define VECTOR_WIDTH_B 4
#define UNROLL_K 8
#define SUBGROUP_SIZE 8
#define ELEMENT float
#define ELEMENT_4 vec4
#define VECTOR_A vec4
#define VECTOR_B vec4
#define VECTOR_WIDTH_C 4
#define VECTOR_C vec4
#define RESULT_C vec4
#define RESULT float

#extension GL_EXT_control_flow_attributes : enable

#extension GL_KHR_shader_subgroup_basic : enable
#extension GL_KHR_shader_subgroup_ballot : enable

layout(local_size_x = SUBGROUP_SIZE) in;

const uint LANES_N = SUBGROUP_SIZE;
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

bool columns_inside(uvec2 tile) { return (tile.x + 1) * TILE_N <= n; }

// Along m first.
uvec2 tile_position() { return gl_WorkGroupID.yx; }

// A uniform texel buffer; a texel is one vector, of one or four channels. The device converts
// float16.
layout(binding = 0) uniform samplerBuffer a;
VECTOR_A fetch_a(uint vector_index) { return VECTOR_A(texelFetch(a, int(vector_index))); }

// A uniform texel buffer; a texel is one vector, of one or four channels. The device converts
// float16.
layout(binding = 1) uniform samplerBuffer b;
VECTOR_B fetch_b(uint vector_index) { return VECTOR_B(texelFetch(b, int(vector_index))); }

// The same panels. The lanes of a subgroup share the vectors of a group of UNROLL_K steps: lane l
// holds the vectors l, l + SUBGROUP_SIZE, and so on.
uint a_panel;
ELEMENT_4 a_own[REG_M * UNROLL_K / 4 / SUBGROUP_SIZE];

void begin_a(uint row) {
  const uint padded_k = (depth + UNROLL_K - 1) / UNROLL_K * UNROLL_K;
  a_panel = (offset_a + row / TILE_M * (TILE_M * padded_k)) / 4 + gl_SubgroupInvocationID;
}

void load_a(uint k0) {
  [[unroll]] for (uint v = 0; v < REG_M * UNROLL_K / 4 / SUBGROUP_SIZE; ++v)
    a_own[v] = fetch_a(a_panel + k0 * TILE_M / 4 + v * SUBGROUP_SIZE);
}

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

VECTOR_C b_at(uint u, uint j) { return b_fragment[u][j]; }

ELEMENT_4 product(ELEMENT x, ELEMENT_4 y) { return x * y; }

// The lane that holds a vector of A broadcasts it to all lanes.
void multiply_vector(ELEMENT_4 a, uint vector_index) {
  const uint i = 4 * vector_index / UNROLL_K, first = 4 * vector_index % UNROLL_K;
  [[unroll]] for (uint u = 0; u < 4; ++u)
    [[unroll]] for (uint j = 0; j < REG_N / VECTOR_WIDTH_C; ++j)
      sums[i][j] += product(a[u], b_at(first + u, j));
}

// Below SPIR-V 1.5 the lane of a broadcast must be a compile-time constant, which a loop counter is
// not.
#define FROM_LANE(lane) multiply_vector(subgroupBroadcast(own, lane), first + lane);
#define FROM_4_LANES(lane) \
  FROM_LANE(lane) FROM_LANE(lane + 1) FROM_LANE(lane + 2) FROM_LANE(lane + 3)

void multiply(uint steps) {
  [[unroll]] for (uint v = 0; v < REG_M * UNROLL_K / 4 / SUBGROUP_SIZE; ++v) {
    const ELEMENT_4 own = a_own[v];
    const uint first = v * SUBGROUP_SIZE;
    FROM_4_LANES(0) FROM_4_LANES(4)
  }
}

// Whole iterations only.
void run_k_loop() {
  for (uint k0 = 0; k0 < k; k0 += UNROLL_K) {
    load_a(k0);
    load_b(k0);
    multiply(UNROLL_K);
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
  begin_gemm(gl_WorkGroupID.z);
  const uvec2 tile = tile_position();
  const uint row = tile.y * TILE_M;
  const uint column = tile.x * TILE_N + gl_LocalInvocationIndex * VECTOR_WIDTH_C;
  [[unroll]] for (uint i = 0; i < REG_M; ++i)
    [[unroll]] for (uint j = 0; j < REG_N / VECTOR_WIDTH_C; ++j) sums[i][j] = VECTOR_C(0);
  begin_a(row);
  begin_b(column);
  run_k_loop();
  store_sums(tile, row, column);
}
