//: Tiles of a float32 $A whose elements become PARTS bfloat16 numbers each on their way to shared
//: memory, of which they are the sums. A tile holds all first parts, then all second and all third
//: ones, and keeps the order of memory: its rows are the lines that are stored.
//:
//: ALONG_K_$A       whether lines run along k, as in an A of m x k or a B of n x k
//: STAGES           tiles in shared memory
//: VECTOR_WIDTH_$A  elements a load; an invocation takes as many loads as fill a vector of a part
//: WHOLE_LOADS_$A   of matrix/load_counts.glsl
layout(binding = $0, std430) readonly buffer Operand$A { VECTOR_$A $a[]; };

#if ALONG_K_$A
const uint $A_LINES = TILE_$M, $A_IN_LINE = TILE_K;
#else
const uint $A_LINES = TILE_K, $A_IN_LINE = TILE_$M;
#endif
const uint $A_RUNS = $A_IN_LINE / SHARED_ELEMENTS;  // in a line; an invocation takes a run of elements
const uint $A_LOADS = $A_LINES * $A_RUNS;
const uint $A_LOADS_EACH = ($A_LOADS + LOCAL_SIZE - 1) / LOCAL_SIZE;
const uint $A_VECTORS = SHARED_ELEMENTS / VECTOR_WIDTH_$A;  // in a run
const uint $A_STRIDE = ($A_IN_LINE + SHARED_PAD) / SHARED_ELEMENTS;
const uint $A_PART = $A_LINES * $A_STRIDE;
shared SHARED_VECTOR $a_tile[STAGES][PARTS * $A_PART];
#if VECTOR_WIDTH_$A == 1
#define component_$a(x, i) x
#else
#define component_$a(x, i) x[i]
#endif
float element_of_$a(uint line, uint at) {
  const uint i = offset_$a + line * ld$a + at;
  return component_$a($a[i / VECTOR_WIDTH_$A], i % VECTOR_WIDTH_$A);
}

VECTOR_$A $a_next[$A_LOADS_EACH][$A_VECTORS];
// Addresses in the first tile, and from there to the next one, in vectors.
uint $a_first[$A_LOADS_EACH][$A_VECTORS], $a_tile_start;
uvec2 line_and_run_$a(uint l) { return load_position(l, $A_LOADS, $A_RUNS); }

#if ALONG_K_$A
const uint $A_NEXT_TILE = TILE_K / VECTOR_WIDTH_$A;
void begin_tiles_$a(uint $row0) {
  $a_tile_start = 0;
  [[unroll]] for (uint l = 0; l < $A_LOADS_EACH; ++l) {
    const uvec2 at = line_and_run_$a(l);
    const uint line = offset_$a + clamp_index($row0 + at.x, $m - 1) * ld$a;
    [[unroll]] for (uint v = 0; v < $A_VECTORS; ++v)
      $a_first[l][v] = line / VECTOR_WIDTH_$A + at.y * $A_VECTORS + v;
  }
}

void fetch_last_tile_$a(uint k0) {
  [[unroll]] for (uint l = 0; l < $A_LOADS_EACH; ++l)
    [[unroll]] for (uint v = 0; v < $A_VECTORS; ++v) {
      const uint first = line_and_run_$a(l).y * $A_VECTORS + v, step = k0 / VECTOR_WIDTH_$A + first;
      $a_next[l][v] = keep_steps($a[$a_first[l][v] - first + clamp_index(step, (k - 1) / VECTOR_WIDTH_$A)],
                                 steps_left(step * VECTOR_WIDTH_$A));
    }
}
#else
#define $A_NEXT_TILE (TILE_K * (ld$a / VECTOR_WIDTH_$A))
void begin_tiles_$a(uint $row0) {
  $a_tile_start = 0;
  [[unroll]] for (uint l = 0; l < $A_LOADS_EACH; ++l) {
    const uvec2 at = line_and_run_$a(l);
    [[unroll]] for (uint v = 0; v < $A_VECTORS; ++v)
      $a_first[l][v] = offset_$a / VECTOR_WIDTH_$A + at.x * (ld$a / VECTOR_WIDTH_$A) +
                       clamp_index($row0 / VECTOR_WIDTH_$A + at.y * $A_VECTORS + v,
                                   ($m - 1) / VECTOR_WIDTH_$A);
  }
}

void fetch_last_tile_$a(uint k0) {
  [[unroll]] for (uint l = 0; l < $A_LOADS_EACH; ++l)
    [[unroll]] for (uint v = 0; v < $A_VECTORS; ++v) {
      const uint first = line_and_run_$a(l).x, step = k0 + first;
      $a_next[l][v] =
          keep_steps($a[$a_first[l][v] + (clamp_index(step, k - 1) - first) * (ld$a / VECTOR_WIDTH_$A)],
                     steps_left(step) > 0 ? VECTOR_WIDTH_$A : 0u);
    }
}
#endif

void fetch_tile_$a() {
  [[unroll]] for (uint l = 0; l < $A_LOADS_EACH; ++l)
    [[unroll]] for (uint v = 0; v < $A_VECTORS; ++v) $a_next[l][v] = $a[$a_first[l][v] + $a_tile_start];
  $a_tile_start += $A_NEXT_TILE;
}

void put_tile_$a(uint stage) {
  [[unroll]] for (uint l = 0; l < $A_LOADS_EACH; ++l) {
#if !WHOLE_LOADS_$A
    if (!has_load(l, $A_LOADS)) break;
#endif
    const uvec2 at = line_and_run_$a(l);
    float rest[SHARED_ELEMENTS];
    [[unroll]] for (uint e = 0; e < SHARED_ELEMENTS; ++e)
      rest[e] = component_$a($a_next[l][e / VECTOR_WIDTH_$A], e % VECTOR_WIDTH_$A);
    [[unroll]] for (uint part = 0; part < PARTS; ++part) {
      SHARED_VECTOR words;
      [[unroll]] for (uint w = 0; w < SHARED_WORDS; ++w)
        words[w] = take_part(rest[2 * w], part) >> 16 | take_part(rest[2 * w + 1], part);
      put_shared($a_tile[stage][part * $A_PART + at.x * $A_STRIDE + at.y], words);
    }
  }
}

// The fragment of a part from a $row and a step of the tile on, and an element in memory.
#define $a_vector(part, line, at) ((part) * $A_PART + (line) * $A_STRIDE + (at) / SHARED_ELEMENTS)
#if $A == A && ALONG_K_$A
#define fragment_part_a(stage, part, row, step)                 \
  coopMatLoadSharedA(a_tile[stage], a_vector(part, row, step), \
                     CooperativeMatrixLayoutRowMajor, A_STRIDE, NonPrivate)
#define element_a(row, step) element_of_a(row, step)
#elif $A == A
#define fragment_part_a(stage, part, row, step)                 \
  coopMatLoadSharedA(a_tile[stage], a_vector(part, step, row), \
                     CooperativeMatrixLayoutColumnMajor, A_STRIDE, NonPrivate)
#define element_a(row, step) element_of_a(step, row)
#elif ALONG_K_$A
#define fragment_part_b(stage, part, step, column)                 \
  coopMatLoadSharedB(b_tile[stage], b_vector(part, column, step), \
                     CooperativeMatrixLayoutColumnMajor, B_STRIDE, NonPrivate)
#define element_b(step, column) element_of_b(column, step)
#else
#define fragment_part_b(stage, part, step, column)                 \
  coopMatLoadSharedB(b_tile[stage], b_vector(part, step, column), \
                     CooperativeMatrixLayoutRowMajor, B_STRIDE, NonPrivate)
#define element_b(step, column) element_of_b(step, column)
#endif
