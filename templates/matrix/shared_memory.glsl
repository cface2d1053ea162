//: Tiles in shared memory: which invocation fetches which part of a tile, words of several
//: elements, and how they are put there. A row of a tile is a row of A or a column of B with all
//: steps of k, whatever the order in memory; or a step of k, for operands that are stored so and
//: keep their order (matrix/staged.glsl, matrix/split.glsl). Rows are padded, and consist of vectors of words that are
//: as long as the rows of fragments allow.
//:
//: OPERAND_BITS         of an element as units multiply it; ELEMENTS_PER_WORD of them lie in 32 bits
//: TILE_K, SHARED_PAD   elements in a row along k, and behind it against bank conflicts
//: SHARED_WORDS         32-bit words in a vector (SHARED_VECTOR)
//: EVEN_LOADS_A and _B  of matrix/load_counts.glsl
//: PARTS                of matrix.comp
const uint SHARED_ELEMENTS = SHARED_WORDS * ELEMENTS_PER_WORD;  // in a vector
const uint SHARED_STRIDE = (TILE_K + SHARED_PAD) / SHARED_ELEMENTS;

#if PARTS > 1
// Returns a bfloat16 number near `rest`, in the upper half of the bits, and subtracts it from `rest`.
// Multiplied by 1 + 2^-8 before it is truncated, it is so near that about 2^-8 of `rest` is left at
// most. A third part is exact. Of an infinite number or NaN, a part is not finite.
uint take_part(inout float rest, uint part) {
  const uint bits = floatBitsToUint(part < 2 ? rest * 1.00390625 : rest) & 0xffff0000u;
  rest -= uintBitsToFloat(bits);
  return bits;
}

#if EDGE == EXACT
#define keep_steps(x, count) x  // nothing lies beyond k
#else
// x with zeros behind the first count elements.
#if VECTOR_WIDTH_A == 1 || VECTOR_WIDTH_B == 1
float keep_steps(float x, uint count) { return count > 0 ? x : 0.0; }
#endif
#if VECTOR_WIDTH_A == 2 || VECTOR_WIDTH_B == 2
vec2 keep_steps(vec2 x, uint count) { return vec2(count > 0 ? x.x : 0.0, count > 1 ? x.y : 0.0); }
#endif
#if VECTOR_WIDTH_A == 4 || VECTOR_WIDTH_B == 4
vec4 keep_steps(vec4 x, uint count) {
  return vec4(count > 0 ? x.x : 0.0, count > 1 ? x.y : 0.0, count > 2 ? x.z : 0.0,
              count > 3 ? x.w : 0.0);
}
#endif
#endif
#endif

#if EDGE == EXACT
#define keep_first(x, count) x  // nothing lies beyond k
#else
// x with zeros behind the first count elements of a vector, and its word from element `first` on.
uint keep_first_in_word(uint x, uint first, uint count) {
  const uint left = count > first ? min(count - first, ELEMENTS_PER_WORD) : 0u;
  return left == ELEMENTS_PER_WORD ? x : x & ((1u << left * OPERAND_BITS) - 1u);
}
#if VECTOR_WIDTH_A == 1 || VECTOR_WIDTH_B == 1
uint keep_first(uint x, uint count) { return keep_first_in_word(x, 0, count); }
#endif
#if VECTOR_WIDTH_A > 1 || VECTOR_WIDTH_B > 1
uvec2 keep_first(uvec2 x, uint count) {
  return uvec2(keep_first_in_word(x.x, 0, count),
               keep_first_in_word(x.y, ELEMENTS_PER_WORD, count));
}
#endif
#if VECTOR_WIDTH_A == 4 || VECTOR_WIDTH_B == 4
uvec4 keep_first(uvec4 x, uint count) {
  return uvec4(keep_first(x.xy, count), keep_first_in_word(x.z, 2 * ELEMENTS_PER_WORD, count),
               keep_first_in_word(x.w, 3 * ELEMENTS_PER_WORD, count));
}
#endif
#endif

// Word i of a vector.
#if VECTOR_WIDTH_A == 1 || VECTOR_WIDTH_B == 1
uint word_of(uint x, uint i) { return x; }
#endif
#if VECTOR_WIDTH_A == 2 || VECTOR_WIDTH_B == 2
uint word_of(uvec2 x, uint i) { return x[i]; }
#endif
#if VECTOR_WIDTH_A == 4 || VECTOR_WIDTH_B == 4
uint word_of(uvec4 x, uint i) { return x[i]; }
#endif

// As many words as a word has elements, transposed: element i of word j becomes element j of word
// i.
#if OPERAND_BITS == 16
void transpose(inout uint x[2]) {
  const uint low = x[0] & 0xffffu | x[1] << 16;
  x[1] = x[0] >> 16 | x[1] & 0xffff0000u;
  x[0] = low;
}
#else
void transpose(inout uint x[4]) {
  // Elements 0 and 2, then 1 and 3, of words 0 and 1 and of words 2 and 3.
  const uint even_0 = x[0] & 0xff00ffu | (x[1] & 0xff00ffu) << 8;
  const uint even_2 = x[2] & 0xff00ffu | (x[3] & 0xff00ffu) << 8;
  const uint odd_0 = x[0] >> 8 & 0xff00ffu | x[1] & 0xff00ff00u;
  const uint odd_2 = x[2] >> 8 & 0xff00ffu | x[3] & 0xff00ff00u;
  x[0] = even_0 & 0xffffu | even_2 << 16;
  x[1] = odd_0 & 0xffffu | odd_2 << 16;
  x[2] = even_0 >> 16 | even_2 & 0xffff0000u;
  x[3] = odd_0 >> 16 | odd_2 & 0xffff0000u;
}
#endif

// Load l of this invocation, counted as (row, position in the row) of rows with a number of loads.
// Consecutive invocations take consecutive loads, then each takes the next LOCAL_SIZE loads.
uvec2 load_position(uint l, uint loads, uint loads_in_row) {
  const uint i = gl_LocalInvocationIndex;
#if EVEN_LOADS_A && EVEN_LOADS_B
  return uvec2(i / loads_in_row + l * (LOCAL_SIZE / loads_in_row), i % loads_in_row);
#else
  // Where rows divide LOCAL_SIZE, the loads of an invocation differ by constants.
  if (loads % LOCAL_SIZE == 0 && LOCAL_SIZE % loads_in_row == 0)
    return uvec2(i / loads_in_row + l * (LOCAL_SIZE / loads_in_row), i % loads_in_row);
  // Without a load left, an invocation repeats the last one.
  const uint load =
      loads % LOCAL_SIZE == 0 ? i + l * LOCAL_SIZE : min(i + l * LOCAL_SIZE, loads - 1);
  return uvec2(load / loads_in_row, load % loads_in_row);
#endif
}

// The same for a tile along k, whose rows are stored in another order with store_map=permuted:
// `together` rows, which one access to shared memory stores, lie `step` rows apart.
uvec2 row_position(uint l, uint loads, uint loads_in_row, uint together, uint step) {
  const uvec2 at = load_position(l, loads, loads_in_row);
  const uint i = at.x % (together * step);
  return uvec2(at.x - i + i % together * step + i / together, at.y);
}

bool has_load(uint l, uint loads) { return gl_LocalInvocationIndex + l * LOCAL_SIZE < loads; }

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
#if SHARED_WORDS > 1
#define word_in(vector, i) vector[(i) % SHARED_WORDS]
#else
#define word_in(vector, i) vector
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
