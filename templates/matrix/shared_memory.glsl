// Tiles in shared memory: their rows are rows of A or columns of B with all steps of k, whatever the
// order in memory (of a_stored.glsl and b_stored.glsl: steps of k, as there), and padded. They are vectors of SHARED_WORDS 32-bit words, as long as the rows of
// fragments allow.
#extension GL_KHR_memory_scope_semantics : enable

const uint SHARED_ELEMENTS = SHARED_WORDS * ELEMENTS_PER_WORD;  // in a vector
const uint SHARED_STRIDE = (TILE_K + SHARED_PAD) / SHARED_ELEMENTS;

// Writes become visible at a barrier. Otherwise each access would make them so by itself, since the
// compiler's own barrier() does not, and drivers would wait at each.
void tile_barrier() {
  controlBarrier(gl_ScopeWorkgroup, gl_ScopeWorkgroup, gl_StorageSemanticsShared,
                 gl_SemanticsAcquireRelease | gl_SemanticsMakeAvailable | gl_SemanticsMakeVisible);
}

// OpStore. Memory operand 32: non-private.
spirv_instruction(id = 62) void store_shared(spirv_by_reference uint p, uint x, spirv_literal uint memory);
#if SHARED_WORDS > 1
spirv_instruction(id = 62)
void store_shared(spirv_by_reference SHARED_VECTOR p, SHARED_VECTOR x, spirv_literal uint memory);
#endif
#define put_shared(p, x) store_shared(p, x, 32)

// Loads of fragments; strides count vectors.
spirv_instruction(id = 4457)
MatrixA load_tile_a(spirv_by_reference SHARED_VECTOR p, uint layout_of, uint stride, spirv_literal uint memory);
spirv_instruction(id = 4457)
MatrixB load_tile_b(spirv_by_reference SHARED_VECTOR p, uint layout_of, uint stride, spirv_literal uint memory);

// Word number i of a row, of which `vector` is the vector that holds it.
#if SHARED_WORDS == 1
#define word_in(vector, i) vector
#else
#define word_in(vector, i) vector[(i) % SHARED_WORDS]
#endif

// The vector of element e of all words.
SHARED_VECTOR shared_vector(uint words[SHARED_WORDS][ELEMENTS_PER_WORD], uint e) {
#if SHARED_WORDS == 4
  return uvec4(words[0][e], words[1][e], words[2][e], words[3][e]);
#elif SHARED_WORDS == 2
  return uvec2(words[0][e], words[1][e]);
#else
  return words[0][e];
#endif
}
