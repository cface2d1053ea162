#version 450
// C := alpha * A * B + beta * C on every device: one invocation computes one element of C and reads
// its row of op(A) and its column of op(B) from memory.
//
// Rooftile naive 8x16 1x1: f32; A not transposed, B not transposed.
// A workgroup of 128 invocations computes 8 x 16 elements of C, an invocation 1 x 1.
// family=naive tile_m=8 tile_n=16 tile_k=1 reg_m=1 reg_n=1 subgroup_m=0 subgroup_n=0 matrix_m=0 matrix_n=0 matrix_k=0 scope=subgroup vector_width_a=1 vector_width_b=1 load_path_a=buffer load_path_b=buffer stage=none stages=1 shared_pad=0 unroll_k=1 dot=1 split_k=1 reduction=ordered tile_batch=1 raster=row packed_a=no packed_b=no edge=masked subgroup_size=0 optimization=zero
#define TILE_M 8
#define TILE_N 16
#define ELEMENT float
#define VECTOR_A float
#define STORED_A float
#define VECTOR_B float
#define STORED_B float
#define RESULT_C float
#define RESULT float

layout(local_size_x = TILE_M * TILE_N) in;

const uint LANES_N = TILE_N;

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

// Along n first.
uvec2 tile_position() { return gl_WorkGroupID.xy; }
uvec2 lane_position() {
  return uvec2(gl_LocalInvocationID.x % LANES_N, gl_LocalInvocationID.x / LANES_N);
}

// A storage buffer of vectors.
layout(binding = 0, std430) readonly buffer OperandA { STORED_A a[]; };
VECTOR_A fetch_a(uint vector_index) { return VECTOR_A(a[vector_index]); }

// A storage buffer of vectors.
layout(binding = 1, std430) readonly buffer OperandB { STORED_B b[]; };
VECTOR_B fetch_b(uint vector_index) { return VECTOR_B(b[vector_index]); }

ELEMENT element_a(uint i, uint p) { return fetch_a(offset_a + i * lda + p); }

ELEMENT element_b(uint p, uint j) { return fetch_b(offset_b + p * ldb + j); }

ELEMENT product(ELEMENT x, ELEMENT y) { return x * y; }

#define C_BINDING 2
layout(binding = C_BINDING, std430) buffer OperandC { RESULT c[]; };
layout(binding = C_BINDING, std430) buffer OperandCVectors { RESULT_C c_vectors[]; };
RESULT load_c(uint i) { return c[i]; }
void store_c(uint i, RESULT x) { c[i] = x; }

void main() {
  begin_gemm(gl_WorkGroupID.z);
  const uvec2 position = tile_position() * uvec2(TILE_N, TILE_M) + lane_position();
  const uint row = position.y, column = position.x;
  if (row >= m || column >= n) return;
  ELEMENT sum = ELEMENT(0);
  for (uint p = 0; p < k; ++p) sum += product(element_a(row, p), element_b(p, column));
  const uint c_index = offset_c + row * ldc + column;
  RESULT old = RESULT(0);
  if (beta != 0.0) old = RESULT(beta) * load_c(c_index);  // at beta 0 C may hold NaN
  store_c(c_index, finish(RESULT(sum), old, row, column));
}
