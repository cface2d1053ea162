#version 450
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
//
// Rooftile matrix 64x64x32 32x32 of 16x16x16 u16 v4/4 shared_pad=8: f16; A not transposed, B not transposed.
// A workgroup of 128 invocations computes 64 x 64 elements of C, a subgroup 32 x 32.
// family=matrix tile_m=64 tile_n=64 tile_k=32 reg_m=1 reg_n=1 subgroup_m=32 subgroup_n=32 matrix_m=16 matrix_n=16 matrix_k=16 scope=subgroup vector_width_a=4 vector_width_b=4 load_path_a=buffer load_path_b=buffer stage=shared stages=1 shared_pad=8 unroll_k=16 dot=1 split_k=1 reduction=ordered tile_batch=1 raster=row packed_a=no packed_b=no edge=masked subgroup_size=32 optimization=zero
#define TILE_M 64
#define TILE_N 64
#define TILE_K 32
#define SUBGROUP_M 32
#define SUBGROUP_N 32
#define MATRIX_M 16
#define MATRIX_N 16
#define MATRIX_K 16
#define VECTOR_WIDTH_B 4
#define STAGES 1
#define SHARED_PAD 8
#define UNROLL_K 16
#define SUBGROUP_SIZE 32
#define SUBGROUPS_K 1
#define ELEMENT float
#define VECTOR_A uvec4
#define ELEMENTS_A 8
#define VECTOR_B uvec4
#define ELEMENTS_B 8
#define VECTOR_WIDTH_C 4
#define RESULT_C vec4
#define RESULT float
#define OPERAND_BITS 16
#define OPERAND_TAG 0x7F000010u
#define ELEMENTS_PER_WORD 2
#define MATRIX_SCOPE gl_ScopeSubgroup
#define SUM_TAG 0x7F000020u
#define LOCAL_SIZE 128
#define SHARED_WORDS 4
#define SHARED_VECTOR uvec4
#define C_TILE a_tile

#extension GL_EXT_control_flow_attributes : enable
#extension GL_KHR_shader_subgroup_basic : enable
#pragma use_vulkan_memory_model

#extension GL_EXT_spirv_intrinsics : enable
#extension GL_KHR_memory_scope_semantics : enable

// The numbers of a type are converted, since the compiler would pass literals as such, where ids are
// required.
#define UNITS extensions = ["SPV_KHR_cooperative_matrix"], capabilities = [6022, 9]
#define coopmat(tag, scope, rows, columns, use) \
  spirv_type(UNITS, id = 4456, tag, uint(scope), uint(rows), uint(columns), use)
const uint MatrixUseA = 0, MatrixUseB = 1, MatrixUseAccumulator = 2;
const uint CooperativeMatrixLayoutRowMajor = 0, CooperativeMatrixLayoutColumnMajor = 1;
#define MatrixA coopmat(OPERAND_TAG, MATRIX_SCOPE, MATRIX_M, MATRIX_K, MatrixUseA)
#define MatrixB coopmat(OPERAND_TAG, MATRIX_SCOPE, MATRIX_K, MATRIX_N, MatrixUseB)
#define MatrixC coopmat(SUM_TAG, MATRIX_SCOPE, MATRIX_M, MATRIX_N, MatrixUseAccumulator)

// The constructor of a matrix whose elements are x.
spirv_instruction(id = 80) MatrixC coopmatC(ELEMENT x);
spirv_instruction(id = 4459) MatrixC coopMatMulAdd(MatrixA a, MatrixB b, MatrixC c);

spirv_instruction(id = 4458) void coopMatStoreC(
    spirv_by_reference RESULT_C to, MatrixC x, uint matrix_layout, uint stride);

// Loads and stores of shared memory, with SPIR-V's memory operands.
#define NonPrivate 32
#define NonPrivateMakeAvailable 40  // and what is stored is available to the scope at once
spirv_instruction(id = 4457) MatrixA load_shared_a(
    spirv_by_reference SHARED_VECTOR x, uint matrix_layout, uint stride, spirv_literal uint memory);
spirv_instruction(id = 4457) MatrixB load_shared_b(
    spirv_by_reference SHARED_VECTOR x, uint matrix_layout, uint stride, spirv_literal uint memory);
#define coopMatLoadSharedA(from, element, matrix_layout, stride, memory) \
  load_shared_a(from[element], matrix_layout, stride, memory)
#define coopMatLoadSharedB(from, element, matrix_layout, stride, memory) \
  load_shared_b(from[element], matrix_layout, stride, memory)
spirv_instruction(id = 4458) void store_shared_c(
    spirv_by_reference SHARED_VECTOR to, MatrixC x, uint matrix_layout, uint stride,
    spirv_literal uint memory, uint scope);
#define coopMatStoreSharedC(to, element, x, matrix_layout, stride, memory, scope) \
  store_shared_c(to[element], x, matrix_layout, stride, memory, scope)

const uint SUBGROUPS_N = TILE_N / SUBGROUP_N;
const uint FRAGMENTS_M = SUBGROUP_M / MATRIX_M;  // in a subgroup's block
const uint FRAGMENTS_N = SUBGROUP_N / MATRIX_N;

layout(local_size_x = LOCAL_SIZE) in;

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

const uint SHARED_ELEMENTS = SHARED_WORDS * ELEMENTS_PER_WORD;  // in a vector
const uint SHARED_STRIDE = (TILE_K + SHARED_PAD) / SHARED_ELEMENTS;

// x with zeros behind the first count elements of a vector, and its word from element `first` on.
uint keep_first_in_word(uint x, uint first, uint count) {
  const uint left = count > first ? min(count - first, ELEMENTS_PER_WORD) : 0u;
  return left == ELEMENTS_PER_WORD ? x : x & ((1u << left * OPERAND_BITS) - 1u);
}
uvec2 keep_first(uvec2 x, uint count) {
  return uvec2(keep_first_in_word(x.x, 0, count),
               keep_first_in_word(x.y, ELEMENTS_PER_WORD, count));
}
uvec4 keep_first(uvec4 x, uint count) {
  return uvec4(keep_first(x.xy, count), keep_first_in_word(x.z, 2 * ELEMENTS_PER_WORD, count),
               keep_first_in_word(x.w, 3 * ELEMENTS_PER_WORD, count));
}

// Word i of a vector.
uint word_of(uvec4 x, uint i) { return x[i]; }

// As many words as a word has elements, transposed: element i of word j becomes element j of word
// i.
void transpose(inout uint x[2]) {
  const uint low = x[0] & 0xffffu | x[1] << 16;
  x[1] = x[0] >> 16 | x[1] & 0xffff0000u;
  x[0] = low;
}

// Load l of this invocation, counted as (row, position in the row) of rows with a number of loads.
// Consecutive invocations take consecutive loads, then each takes the next LOCAL_SIZE loads.
uvec2 load_position(uint l, uint loads, uint loads_in_row) {
  const uint i = gl_LocalInvocationIndex;
  return uvec2(i / loads_in_row + l * (LOCAL_SIZE / loads_in_row), i % loads_in_row);
}

// Writes become visible at a barrier. Otherwise each access would make them so by itself, since the
// compiler's own barrier() does not, and drivers would wait at each.
void tile_barrier() {
  controlBarrier(gl_ScopeWorkgroup, gl_ScopeWorkgroup, gl_StorageSemanticsShared,
                 gl_SemanticsAcquireRelease | gl_SemanticsMakeAvailable | gl_SemanticsMakeVisible);
}

// OpStore of a vector.
spirv_instruction(id = 62) void store_shared(
    spirv_by_reference SHARED_VECTOR p, SHARED_VECTOR x, spirv_literal uint memory);
#define put_shared(p, x) store_shared(p, x, NonPrivate)
// OpStore of a word.
spirv_instruction(id = 62) void store_word(
    spirv_by_reference uint p, uint x, spirv_literal uint memory);
#define put_word(p, x) store_word(p, x, NonPrivate)

// Word number i of a row, of which `vector` is the vector that holds it.
#define word_in(vector, i) vector[(i) % SHARED_WORDS]

// Tiles may extend beyond m, n and k. For a row of A or a column of B beyond the edge the last one
// is read instead, since it contributes only to elements of C that are never stored. For steps
// beyond k, addresses are clamped and values are set to zero.
uint clamp_index(uint index, uint last) { return min(index, last); }
uint steps_left(uint k0) { return k - min(k0, k); }
bool columns_inside(uvec2 tile) { return (tile.x + 1) * TILE_N <= n; }

// Along n first.
uvec2 tile_position() { return gl_WorkGroupID.xy; }

layout(binding = 0, std430) readonly buffer OperandA { VECTOR_A a[]; };

// Vectors run along k, in memory and in shared memory.
const uint A_VECTORS = TILE_K / ELEMENTS_A;  // in a row of the tile
const uint A_LOADS = TILE_M * A_VECTORS;
shared SHARED_VECTOR a_tile[STAGES][TILE_M * SHARED_STRIDE];
const uint A_LOADS_EACH = (A_LOADS + LOCAL_SIZE - 1) / LOCAL_SIZE;
VECTOR_A a_next[A_LOADS_EACH];
uint a_first[A_LOADS_EACH], a_tile_start;  // addresses in the first tile, from there to the next
#define position_a(l) load_position(l, A_LOADS, A_VECTORS)

void begin_tiles_a(uint row0) {
  a_tile_start = 0;
  [[unroll]] for (uint l = 0; l < A_LOADS_EACH; ++l) {
    const uvec2 at = position_a(l);
    const uint row = clamp_index(row0 + at.x, m - 1);
    a_first[l] = (offset_a + row * lda) / ELEMENTS_A + at.y;
  }
}

void fetch_tile_a() {
  [[unroll]] for (uint l = 0; l < A_LOADS_EACH; ++l) a_next[l] = a[a_first[l] + a_tile_start];
  a_tile_start += A_VECTORS;
}

void fetch_last_tile_a(uint k0) {
  [[unroll]] for (uint l = 0; l < A_LOADS_EACH; ++l) {
    const uint first = position_a(l).y, step = k0 / ELEMENTS_A + first;
    a_next[l] = keep_first(a[a_first[l] - first + clamp_index(step, (k - 1) / ELEMENTS_A)],
                           steps_left(step * ELEMENTS_A));
  }
}

void put_tile_a(uint stage) {
  [[unroll]] for (uint l = 0; l < A_LOADS_EACH; ++l) {
    const uvec2 at = position_a(l);
    put_shared(a_tile[stage][at.x * SHARED_STRIDE + at.y], a_next[l]);
  }
}

#define fragment_a(stage, row, step)                                                   \
  coopMatLoadSharedA(a_tile[stage], (row) * SHARED_STRIDE + (step) / SHARED_ELEMENTS, \
                     CooperativeMatrixLayoutRowMajor, SHARED_STRIDE, NonPrivate)

layout(binding = 1, std430) readonly buffer OperandB { VECTOR_B b[]; };

// Vectors run along n in memory, but along k in shared memory, since fragments are read fastest
// from there if their words hold neighbouring steps of k. So an invocation fetches the same vector
// of B_STEPS steps and transposes it on the way to shared memory. Invocations that are neighbours
// fetch neighbouring steps, which lie in different banks of shared memory.
const uint B_VECTORS = TILE_N / ELEMENTS_B;  // in a step of the tile
const uint B_STEPS = ELEMENTS_PER_WORD;  // that an invocation fetches, of a word there
const uint B_LOADS = B_VECTORS * (TILE_K / B_STEPS);
shared SHARED_VECTOR b_tile[STAGES][TILE_N * SHARED_STRIDE];
const uint B_LOADS_EACH = (B_LOADS + LOCAL_SIZE - 1) / LOCAL_SIZE;
VECTOR_B b_next[B_LOADS_EACH][B_STEPS];
uint b_first[B_LOADS_EACH], b_tile_start;  // addresses in the first tile, from there to the next
uint vector_of_b(uint l) { return load_position(l, B_LOADS, TILE_K / B_STEPS).x; }
uint step_of_b(uint l) { return load_position(l, B_LOADS, TILE_K / B_STEPS).y * B_STEPS; }

void begin_tiles_b(uint column0) {
  b_tile_start = 0;
  [[unroll]] for (uint l = 0; l < B_LOADS_EACH; ++l)
    b_first[l] = offset_b / ELEMENTS_B + step_of_b(l) * (ldb / ELEMENTS_B) +
                 clamp_index(column0 / ELEMENTS_B + vector_of_b(l), (n - 1) / ELEMENTS_B);
}

void fetch_tile_b() {
  [[unroll]] for (uint l = 0; l < B_LOADS_EACH; ++l)
    [[unroll]] for (uint s = 0; s < B_STEPS; ++s)
      b_next[l][s] = b[b_first[l] + (b_tile_start + s * (ldb / ELEMENTS_B))];
  b_tile_start += TILE_K * (ldb / ELEMENTS_B);
}

void fetch_last_tile_b(uint k0) {
  [[unroll]] for (uint l = 0; l < B_LOADS_EACH; ++l)
    [[unroll]] for (uint s = 0; s < B_STEPS; ++s) {
      const uint first = step_of_b(l), step = k0 + first + s;
      b_next[l][s] =
          keep_first(b[b_first[l] + (clamp_index(step, k - 1) - first) * (ldb / ELEMENTS_B)],
                     steps_left(step) > 0 ? ELEMENTS_B : 0u);
    }
}

void put_tile_b(uint stage) {
  [[unroll]] for (uint l = 0; l < B_LOADS_EACH; ++l) {
    [[unroll]] for (uint w = 0; w < VECTOR_WIDTH_B; ++w) {
      uint words[SHARED_WORDS][ELEMENTS_PER_WORD];  // of each column the words with B_STEPS steps
      [[unroll]] for (uint s = 0; s < B_STEPS; s += ELEMENTS_PER_WORD) {
        [[unroll]] for (uint e = 0; e < ELEMENTS_PER_WORD; ++e)
          words[s / ELEMENTS_PER_WORD][e] = word_of(b_next[l][s + e], w);
        transpose(words[s / ELEMENTS_PER_WORD]);
      }
      const uint column = vector_of_b(l) * ELEMENTS_B + w * ELEMENTS_PER_WORD;
      const uint to = step_of_b(l) / ELEMENTS_PER_WORD;  // in words of a column
      [[unroll]] for (uint e = 0; e < ELEMENTS_PER_WORD; ++e)
        put_word(word_in(b_tile[stage][(column + e) * SHARED_STRIDE + to / SHARED_WORDS], to),
                 words[0][e]);
    }
  }
}

#define fragment_b(stage, step, column)                                                   \
  coopMatLoadSharedB(b_tile[stage], (column) * SHARED_STRIDE + (step) / SHARED_ELEMENTS, \
                     CooperativeMatrixLayoutColumnMajor, SHARED_STRIDE, NonPrivate)

// Sums stay in registers only if compilers know every index: loops over them are unrolled and have no
// loop inside that is not (tests/generator/matrix_loop_test.cpp).
MatrixC sums[FRAGMENTS_M][FRAGMENTS_N];
uint subgroup_row, subgroup_column;  // first row and column of the subgroup's block in the tile

#define tile_step(step) (step)

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

// The tile at the end of k is multiplied first: fetch_last_tile_* masks what lies beyond k, so that the
// loop over the others needs no masks (tests/generator/matrix_loop_test.cpp).
void run_k_loop(uint row, uint column) {
  if (k == 0) return;
  begin_tiles_a(row);
  begin_tiles_b(column);
  uint tiles = (k - 1) / TILE_K;  // whole tiles besides the last one
  fetch_last_tile_a(tiles * TILE_K);
  fetch_last_tile_b(tiles * TILE_K);
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

// C has the type of the sums: where alpha is 1 and beta 0, fragments are C.
bool stores_fragments() { return alpha == 1.0 && beta == 0.0; }
void store_fragments(uint row, uint column) {
  const uint to = (offset_c + row * ldc + column) / VECTOR_WIDTH_C, stride = ldc / VECTOR_WIDTH_C;
  [[unroll]] for (uint i = 0; i < FRAGMENTS_M; ++i)
    [[unroll]] for (uint j = 0; j < FRAGMENTS_N; ++j)
      coopMatStoreC(c_vectors[to + i * MATRIX_M * stride + j * (MATRIX_N / VECTOR_WIDTH_C)],
                    sums[i][j], CooperativeMatrixLayoutRowMajor, stride);
}

// put_fragment() puts a fragment into shared memory, and sum_in() takes its i-th sum from there.
const uint C_VECTORS = MATRIX_M * MATRIX_N / SHARED_WORDS;  // of a fragment
#define put_fragment(x)                                                                          \
  coopMatStoreSharedC(C_TILE[0], gl_SubgroupID * C_VECTORS, x, CooperativeMatrixLayoutRowMajor, \
                      MATRIX_N / SHARED_WORDS, NonPrivateMakeAvailable, gl_ScopeWorkgroup)
ELEMENT sum_in(uint subgroup, uint i) {
  return uintBitsToFloat(word_in(C_TILE[0][subgroup * C_VECTORS + i / SHARED_WORDS], i));
}
void begin_fragments() { tile_barrier(); }

#define sum_at(i) sum_in(gl_SubgroupID, i)
#define first_vector() gl_SubgroupInvocationID
#define fragment_barrier() subgroupBarrier()

// Stores the fragment in shared memory to C.
void store_fragment(bool vectors, uint row, uint column) {
  [[dont_unroll]] for (uint v = first_vector(); v < MATRIX_M * MATRIX_N / VECTOR_WIDTH_C;
                       v += SUBGROUPS_K * SUBGROUP_SIZE) {
    const uint first = v * VECTOR_WIDTH_C;
    const uint to_row = row + first / MATRIX_N, to_column = column + first % MATRIX_N;
    if (to_row >= m) break;
    RESULT_C sum;
    [[unroll]] for (uint w = 0; w < VECTOR_WIDTH_C; ++w)
      sum[w] = RESULT(sum_at(first + w));
    store_vector(vectors, sum, to_row, to_column);
  }
}

// The loop over fragments has one copy of the epilogue's code. It selects a fragment by
// comparisons, since an index that is no constant would force all sums out of registers.
void store_sums(uvec2 tile, uint row, uint column) {
  const bool vectors = columns_inside(tile) && (ldc | offset_c) % VECTOR_WIDTH_C == 0;
  if (vectors && stores_fragments() && (tile.y + 1) * TILE_M <= m) {
    store_fragments(row, column);
    return;
  }
  begin_fragments();
  [[dont_unroll]] for (uint fragment = 0; fragment < FRAGMENTS_M * FRAGMENTS_N; ++fragment) {
    [[unroll]] for (uint i = 0; i < FRAGMENTS_M; ++i)
      [[unroll]] for (uint j = 0; j < FRAGMENTS_N; ++j)
        if (fragment == i * FRAGMENTS_N + j)
          put_fragment(sums[i][j]);
    fragment_barrier();
    store_fragment(vectors, row + fragment / FRAGMENTS_N * MATRIX_M,
                   column + fragment % FRAGMENTS_N * MATRIX_N);
    fragment_barrier();
  }
}

void main() {
  begin_gemm(gl_WorkGroupID.z);
  const uvec2 tile = tile_position();
  const uint row = tile.y * TILE_M, column = tile.x * TILE_N;
  const uint block = gl_SubgroupID;
  subgroup_row = block / SUBGROUPS_N * SUBGROUP_M;
  subgroup_column = block % SUBGROUPS_N * SUBGROUP_N;
  [[unroll]] for (uint i = 0; i < FRAGMENTS_M; ++i)
    [[unroll]] for (uint j = 0; j < FRAGMENTS_N; ++j) sums[i][j] = coopmatC(ELEMENT(0));
  run_k_loop(row, column);
  store_sums(tile, row + subgroup_row, column + subgroup_column);
}
