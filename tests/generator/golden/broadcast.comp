#version 450
// Rooftile broadcast 16x64 16x8 u8 v4/4 texel/texel packed ab: f32; A as it is and packed, B as it is and packed.
// A workgroup of 8 owns 16 x 64 of C, an invocation 16 x 8.
// family=broadcast tile_m=16 tile_n=64 tile_k=1 reg_m=16 reg_n=8 subgroup_m=0 subgroup_n=0 matrix_m=0 matrix_n=0 matrix_k=0 scope=subgroup vector_width_a=4 vector_width_b=4 load_path_a=texel load_path_b=texel stage=subgroup stages=1 shared_pad=0 unroll_k=8 dot=1 split_k=1 reduction=ordered tile_batch=1 raster=column packed_a=yes packed_b=yes edge=masked subgroup_size=8 optimization=zero
#define TILE_M 16
#define TILE_N 64
#define REG_M 16
#define REG_N 8
#define UNROLL_K 8
#define TAIL_K 8
#define SUBGROUP_SIZE 8
#define VECTOR_WIDTH_A 4
#define VECTOR_A vec4
#define VECTOR_WIDTH_B 4
#define VECTOR_B vec4
#define VECTOR_WIDTH_C 4
#define VECTOR_C vec4
#define RESULT_C vec4
// One subgroup a workgroup: its lanes lie along n, and every value of A serves all of them. REG_M
// == TILE_M rows; a lane's columns come as vectors SUBGROUP_SIZE apart.
#extension GL_EXT_control_flow_attributes : enable

// Elements of fragments and sums.
#define ELEMENT float
#define ELEMENT_2 vec2
#define ELEMENT_4 vec4
#extension GL_KHR_shader_subgroup_basic : enable
#extension GL_KHR_shader_subgroup_ballot : enable

layout(local_size_x = SUBGROUP_SIZE) in;

const uint LANES_M = 1;
const uint LANES_N = SUBGROUP_SIZE;

VECTOR_C sums[REG_M][REG_N / VECTOR_WIDTH_C];

// Where the i-th row and the j-th vector of the lane lie, from its first.
uint row_at(uint i) { return i; }
uint column_at(uint j) { return j * LANES_N * VECTOR_WIDTH_C; }

// C := alpha * op(A) * op(B) + beta * C, row-major: op(A) m x k, op(B) k x n, C m x n.
// Byte for byte GemmPushConstants of generator/emit.h; ld, strides and offsets in elements.
layout(push_constant) uniform Problem {
  uint m, n, depth, lda, ldb, ldc;  // depth: all of k
  float alpha, beta;
  uint base_a, base_b, base_c;        // of the first product
  uint stride_a, stride_b, stride_c;  // from a product (for C: from a z of the grid) to the next
  uint step_a, step_b;                // from a step of k to the next
  uint batch, split_depth;            // products; steps of k that one part of a split product has

  // nothing is fused
};

// C := alpha * sum + beta * C; old is beta * C already.
#define FINISH(T) T finish(T sum, T old, uint row, uint column) { return alpha * sum + old; }
FINISH(float)
FINISH(vec2)
FINISH(vec4)
void begin_epilogue(uint product) {}

// All operands are float32: nothing to widen.

#ifndef PARTS_SHARE_C
#define PARTS_SHARE_C 0
#endif

// This workgroup's part: steps of k, and where its operands begin.
uint k, offset_a, offset_b, offset_c;

// The grid's z counts products, and all of them again for every further part of k.
void begin_product(uint z) {
  const uint product = z % batch, first = z / batch * split_depth;
  k = min(depth - first, split_depth);
  offset_a = base_a + product * stride_a + first * step_a;
  offset_b = base_b + product * stride_b + first * step_b;
  offset_c = base_c + (PARTS_SHARE_C == 1 ? product : z) * stride_c;
  begin_epilogue(product);
}

// What elements and vectors of two and four share, so that a kernel is written once for every width.
ELEMENT component(ELEMENT x, uint i) { return x; }
ELEMENT component(ELEMENT_2 x, uint i) { return x[i]; }
ELEMENT component(ELEMENT_4 x, uint i) { return x[i]; }

// The first count components, zero in the others. A select, not a product: NaN and Inf must go.
ELEMENT keep(ELEMENT x, uint count) { return count > 0 ? x : ELEMENT(0); }
ELEMENT_2 keep(ELEMENT_2 x, uint count) {
  return mix(ELEMENT_2(0), x, lessThan(uvec2(0, 1), uvec2(count)));
}
ELEMENT_4 keep(ELEMENT_4 x, uint count) {
  return mix(ELEMENT_4(0), x, lessThan(uvec4(0, 1, 2, 3), uvec4(count)));
}

// Tiles may hang over the edge of C. Rows of A and columns of B beyond it are read at the last
// one instead: they only reach elements of C that are never stored, so they need an address
// inside the buffer but no zero. Steps beyond k need both.
uint clamp_index(uint index, uint last) { return min(index, last); }
uint steps_left(uint k0) { return k0 < k ? k - k0 : 0u; }
bool columns_inside(uvec2 tile) { return (tile.x + 1) * TILE_N <= n; }

// Workgroups and invocations run along m first. x counts along n, y along m.
uvec2 tile_position() { return gl_WorkGroupID.yx; }
uvec2 lane_position() {
  return uvec2(gl_LocalInvocationID.x / LANES_M, gl_LocalInvocationID.x % LANES_M);
}

// A as a uniform texel buffer, one vector a texel: one or four channels, of 32 bits or of 16.
layout(binding = 0) uniform samplerBuffer a;
VECTOR_A fetch_a(uint vector_index) { return VECTOR_A(texelFetch(a, int(vector_index))); }

// B as a uniform texel buffer, one vector a texel: one or four channels, of 32 bits or of 16.
layout(binding = 1) uniform samplerBuffer b;
VECTOR_B fetch_b(uint vector_index) { return VECTOR_B(texelFetch(b, int(vector_index))); }

// A packed by pack.comp: panels of TILE_M rows, each [k / UNROLL_K][TILE_M][UNROLL_K], zero
// padded. The lanes share the vectors of a group: lane l holds the vectors l, l + SUBGROUP_SIZE,
// ... Addresses in vectors.
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

// A tail is a whole group here: the padding is zero already.
void load_a_tail(uint k0) { load_a(k0); }

// B packed by pack.comp: panels of TILE_N columns, each [k][TILE_N], zero padded. Addresses in
// vectors.
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
                  (u * (TILE_N / VECTOR_WIDTH_B) + column_at(j) / VECTOR_WIDTH_B));
}

// TAIL_K steps; the padding is zero already.
void load_b_tail(uint k0) {
  [[unroll]] for (uint u = 0; u < TAIL_K; ++u)
    [[unroll]] for (uint j = 0; j < REG_N / VECTOR_WIDTH_B; ++j)
      b_fragment[u][j] =
          fetch_b(b_panel + k0 * (TILE_N / VECTOR_WIDTH_B) +
                  (u * (TILE_N / VECTOR_WIDTH_B) + column_at(j) / VECTOR_WIDTH_B));
}

VECTOR_C b_at(uint u, uint j) { return b_fragment[u][j]; }

// Every vector of the group of A is sent to all lanes by the one that holds it.

ELEMENT product(ELEMENT x, ELEMENT y) { return x * y; }
ELEMENT_2 product(ELEMENT x, ELEMENT_2 y) { return x * y; }
ELEMENT_4 product(ELEMENT x, ELEMENT_4 y) { return x * y; }

void multiply_vector(ELEMENT_4 a, uint vector_index) {
  const uint i = 4 * vector_index / UNROLL_K, first = 4 * vector_index % UNROLL_K;
  [[unroll]] for (uint u = 0; u < 4; ++u)
    [[unroll]] for (uint j = 0; j < REG_N / VECTOR_WIDTH_C; ++j)
      sums[i][j] += product(a[u], b_at(first + u, j));
}

// Below SPIR-V 1.5 the lane of a broadcast has to be a constant of the text, which a loop's
// counter is not.
#define FROM_LANE(lane) multiply_vector(subgroupBroadcast(own, lane), first + lane);
#define FROM_4_LANES(lane) \
  FROM_LANE(lane) FROM_LANE(lane + 1) FROM_LANE(lane + 2) FROM_LANE(lane + 3)
#define FROM_16_LANES(lane) \
  FROM_4_LANES(lane) FROM_4_LANES(lane + 4) FROM_4_LANES(lane + 8) FROM_4_LANES(lane + 12)

void multiply(uint steps) {
  [[unroll]] for (uint v = 0; v < REG_M * UNROLL_K / 4 / SUBGROUP_SIZE; ++v) {
    const ELEMENT_4 own = a_own[v];
    const uint first = v * SUBGROUP_SIZE;

    FROM_4_LANES(0) FROM_4_LANES(4)
  }
}

// Whole trips only: k is a multiple of UNROLL_K, or both operands are packed and zero padded to
// one.
void multiply_all() {
  for (uint k0 = 0; k0 < k; k0 += UNROLL_K) {
    load_a(k0);
    load_b(k0);
    multiply(UNROLL_K);
  }
}

// From sums to C.

// A vector of sums to C: whole where ldc and the offset allow it, else by elements.

// C in float32, once as elements and once as vectors. Indices count elements.
#ifndef C_BINDING
#define C_BINDING 2
#endif
#define RESULT float
layout(binding = C_BINDING, std430) buffer OperandC { float c[]; };
layout(binding = C_BINDING, std430) buffer OperandCVectors { RESULT_C c_vectors[]; };
float load_c(uint i) { return c[i]; }
void store_c(uint i, float x) { c[i] = x; }
RESULT_C load_c_vector(uint i) { return c_vectors[i / VECTOR_WIDTH_C]; }
void store_c_vector(uint i, RESULT_C x) { c_vectors[i / VECTOR_WIDTH_C] = x; }

void store_elements(uint target, uint columns, RESULT_C sum, uint row, uint column) {
  [[unroll]] for (uint w = 0; w < VECTOR_WIDTH_C; ++w)
    if (w < columns) {
      RESULT old = RESULT(0);
      if (beta != 0.0) old = RESULT(beta) * load_c(target + w);  // beta 0: C may hold NaN
#if VECTOR_WIDTH_C == 1
      store_c(target, finish(sum, old, row, column));
#else
      store_c(target + w, finish(sum[w], old, row, column + w));
#endif
    }
}

void store_vector(bool whole, RESULT_C sum, uint row, uint column) {
  const uint target = offset_c + row * ldc + column;
  if (whole) {
    RESULT_C old = RESULT_C(0);
    if (beta != 0.0) old = RESULT(beta) * load_c_vector(target);
    store_c_vector(target, finish(sum, old, row, column));
  } else if (column < n) {
    store_elements(target, n - column, sum, row, column);
  }
}

// A loop at run time over rows, which moves the next row of sums to the front. Unrolled, the
// store of 32 x 16 sums takes lavapipe 22.3 15 s to compile instead of 0.2 s; indexing sums by a
// variable would take them out of registers.
void store_sums(uvec2 tile, uint row, uint column) {
  const bool vectors = columns_inside(tile) && (ldc | offset_c) % VECTOR_WIDTH_C == 0;
  [[dont_unroll]] for (uint i = 0; i < REG_M && row + row_at(i) < m; ++i) {
    [[unroll]] for (uint j = 0; j < REG_N / VECTOR_WIDTH_C; ++j)
      store_vector(vectors, RESULT_C(sums[0][j]), row + row_at(i), column + column_at(j));
    [[unroll]] for (uint next = 1; next < REG_M; ++next)
      [[unroll]] for (uint j = 0; j < REG_N / VECTOR_WIDTH_C; ++j)
        sums[next - 1][j] = sums[next][j];
  }
}

void main() {
  begin_product(gl_WorkGroupID.z);
  const uvec2 tile = tile_position();
  const uint row = tile.y * TILE_M;
  const uint column = tile.x * TILE_N + gl_LocalInvocationIndex * VECTOR_WIDTH_C;
  [[unroll]] for (uint i = 0; i < REG_M; ++i)
    [[unroll]] for (uint j = 0; j < REG_N / VECTOR_WIDTH_C; ++j) sums[i][j] = VECTOR_C(0);
  begin_a(row);
  begin_b(column);
  multiply_all();
  store_sums(tile, row, column);
}
