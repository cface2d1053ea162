//: Stores the sums of matrix.comp. A fragment that lies inside of C is stored as a whole where C is
//: the sums as they are, or only narrowed. Which of its elements an invocation holds is the
//: driver's choice, so for everything else it goes through shared memory, from which the subgroup
//: stores vectors of C.
//:
//: FRAGMENT_STORES  whether fragments are stored as a whole: NONE, WHOLE or NARROWED
//: C_TILE           the tile of an operand whose place the fragments take; else they have their own
//: VECTOR_WIDTH_C   elements of C a store
//: SUBGROUPS_K      subgroups that each hold a part of the sums
//: RECOMPUTES_SUMS  whether sums that are not finite are computed again
#include "epilogue/store_vector.glsl"

#if FRAGMENT_STORES == WHOLE
// C has the type of the sums: where alpha is 1 and beta 0, fragments are C.
bool stores_fragments() { return alpha == 1.0 && beta == 0.0; }
void store_fragments(uint row, uint column) {
  const uint to = (offset_c + row * ldc + column) / VECTOR_WIDTH_C, stride = ldc / VECTOR_WIDTH_C;
  [[unroll]] for (uint i = 0; i < FRAGMENTS_M; ++i)
    [[unroll]] for (uint j = 0; j < FRAGMENTS_N; ++j)
      coopMatStoreC(c_vectors[to + i * MATRIX_M * stride + j * (MATRIX_N / VECTOR_WIDTH_C)],
                    sums[i][j], CooperativeMatrixLayoutRowMajor, stride);
}
#elif FRAGMENT_STORES == NARROWED
// C is float16, and the sums are float32: where alpha is 1 and beta 0, the matrix unit's registers
// are narrowed and stored to C, in vectors of 16 bytes.
layout(binding = 2, std430) buffer OperandCWords { uvec4 c_quads[]; };

const uint QUAD_ELEMENTS = 8;
bool stores_fragments() {
  return alpha == 1.0 && beta == 0.0 && (ldc | offset_c) % QUAD_ELEMENTS == 0;
}
void store_fragments(uint row, uint column) {
  const uint to = (offset_c + row * ldc + column) / QUAD_ELEMENTS, stride = ldc / QUAD_ELEMENTS;
  [[unroll]] for (uint i = 0; i < FRAGMENTS_M; ++i)
    [[unroll]] for (uint j = 0; j < FRAGMENTS_N; ++j)
      coopMatStoreN(c_quads[to + i * MATRIX_M * stride + j * (MATRIX_N / QUAD_ELEMENTS)],
                    coopmatN(sums[i][j]), CooperativeMatrixLayoutRowMajor, stride);
}
#else
// Fragments cannot be C: it has another type, an epilogue, or kernels add to it atomically.
bool stores_fragments() { return false; }
void store_fragments(uint row, uint column) {}
#endif

// put_fragment() puts a fragment into shared memory, and sum_in() takes its i-th sum from there.
#if defined(C_TILE)  // in place of a tile that is no longer needed
const uint C_VECTORS = MATRIX_M * MATRIX_N / SHARED_WORDS;  // of a fragment
#define put_fragment(x)                                                                          \
  coopMatStoreSharedC(C_TILE[0], gl_SubgroupID * C_VECTORS, x, CooperativeMatrixLayoutRowMajor, \
                      MATRIX_N / SHARED_WORDS, NonPrivateMakeAvailable, gl_ScopeWorkgroup)
ELEMENT sum_in(uint subgroup, uint i) {
#if SUM_TYPE == F32
  return uintBitsToFloat(word_in(C_TILE[0][subgroup * C_VECTORS + i / SHARED_WORDS], i));
#else
  return ELEMENT(word_in(C_TILE[0][subgroup * C_VECTORS + i / SHARED_WORDS], i));
#endif
}
void begin_fragments() { tile_barrier(); }
#else
shared ELEMENT c_tile[SUBGROUPS_M * SUBGROUPS_N * SUBGROUPS_K][MATRIX_M * MATRIX_N];
#define put_fragment(x)                                                                        \
  coopMatStoreSharedC(c_tile[gl_SubgroupID], 0, x, CooperativeMatrixLayoutRowMajor, MATRIX_N, \
                      NonPrivateMakeAvailable, gl_ScopeWorkgroup)
ELEMENT sum_in(uint subgroup, uint i) { return c_tile[subgroup][i]; }
void begin_fragments() {}
#endif

#if SUBGROUPS_K > 1
// The subgroups of a block add their sums, always in the same order, and store a part of the fragment each.
const uint BLOCKS = SUBGROUPS_M * SUBGROUPS_N;
ELEMENT sum_at(uint i) {
  const uint block = gl_SubgroupID % BLOCKS;
  ELEMENT sum = sum_in(block, i);
  [[unroll]] for (uint other = 1; other < SUBGROUPS_K; ++other) sum += sum_in(block + other * BLOCKS, i);
  return sum;
}
#define first_vector() (gl_SubgroupID / BLOCKS * SUBGROUP_SIZE + gl_SubgroupInvocationID)
#define fragment_barrier() tile_barrier()
#else
#define sum_at(i) sum_in(gl_SubgroupID, i)
#define first_vector() gl_SubgroupInvocationID
#define fragment_barrier() subgroupBarrier()
#endif

#if RECOMPUTES_SUMS
// An operand that is infinite, or so large that its first part is, makes sums of parts infinite or NaN
// where those of float32 need not be. Such sums are computed again, in float32.
// Bits are compared, since drivers may take all numbers for finite.
bool are_finite(vec4 sum, uint column) {
  bool finite = true;
  [[unroll]] for (uint w = 0; w < 4; ++w)
    finite = finite && (column + w >= n || (floatBitsToUint(sum[w]) & 0x7f800000u) != 0x7f800000u);
  return finite;
}
bool are_nan(vec4 sum) {
  bool nan = true;
  [[unroll]] for (uint w = 0; w < 4; ++w)
    nan = nan && (floatBitsToUint(sum[w]) & 0x7fffffffu) > 0x7f800000u;
  return nan;
}
vec4 float32_sums(uint row, uint column) {
  vec4 sum = vec4(0);
  [[dont_unroll]] for (uint step = 0; step < k && !are_nan(sum); ++step) {
    vec4 factors;
    [[unroll]] for (uint w = 0; w < 4; ++w)
      factors[w] = element_b(step, min(column + w, n - 1));
    sum = fma(vec4(element_a(row, step)), factors, sum);
  }
  return sum;
}
#endif

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
#if RECOMPUTES_SUMS
    if (!are_finite(sum, to_column)) sum = float32_sums(to_row, to_column);
#endif
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
