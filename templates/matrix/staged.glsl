//: Tiles of $A, which matrix.comp stages in shared memory. Addresses count vectors.
//:
//: ALONG_K_$A       whether vectors run along k in memory, as in an A of m x k or a B of n x k
//: STAGE           if they do not: SHARED transposes them on the way, STORED keeps them
//: STAGES          tiles in shared memory
//: VECTOR_WIDTH_$A  32-bit words a load
//: STORE_ROWS_$A, STORE_STEP_$A: in which order invocations store rows along k
//: WHOLE_LOADS_$A, FILLS_VECTORS_$A: of matrix/load_counts.glsl
layout(binding = $0, std430) readonly buffer Operand$A { VECTOR_$A $a[]; };

#if ALONG_K_$A
// Vectors run along k, in memory and in shared memory.
const uint $A_VECTORS = TILE_K / ELEMENTS_$A;  // in a $row of the tile
const uint $A_LOADS = TILE_$M * $A_VECTORS;
shared SHARED_VECTOR $a_tile[STAGES][TILE_$M * SHARED_STRIDE];
#elif STAGE == SHARED
// Vectors run along $m in memory, but along k in shared memory, since fragments are read fastest
// from there if their words hold neighbouring steps of k. So an invocation fetches the same vector
// of $A_STEPS steps and transposes it on the way to shared memory. Invocations that are neighbours
// fetch neighbouring steps, which lie in different banks of shared memory.
const uint $A_VECTORS = TILE_$M / ELEMENTS_$A;  // in a step of the tile
#if FILLS_VECTORS_$A
const uint $A_STEPS = SHARED_ELEMENTS;  // that an invocation fetches, of a vector in shared memory
#else
const uint $A_STEPS = ELEMENTS_PER_WORD;  // that an invocation fetches, of a word there
#endif
const uint $A_LOADS = $A_VECTORS * (TILE_K / $A_STEPS);
shared SHARED_VECTOR $a_tile[STAGES][TILE_$M * SHARED_STRIDE];
#else
// Vectors run along $m, in memory and in shared memory: a fragment is read across the rows of the
// tile, which NVIDIA's units do at full speed, and nothing is transposed on the way.
const uint $A_VECTORS = TILE_$M / ELEMENTS_$A;  // in a step of the tile
const uint $A_LOADS = TILE_K * $A_VECTORS;
const uint $A_STRIDE = (TILE_$M + SHARED_PAD) / SHARED_ELEMENTS;
shared SHARED_VECTOR $a_tile[STAGES][TILE_K * $A_STRIDE];
#endif
const uint $A_LOADS_EACH = ($A_LOADS + LOCAL_SIZE - 1) / LOCAL_SIZE;
#if !ALONG_K_$A && STAGE == SHARED
VECTOR_$A $a_next[$A_LOADS_EACH][$A_STEPS];
#else
VECTOR_$A $a_next[$A_LOADS_EACH];
#endif
uint $a_first[$A_LOADS_EACH], $a_tile_start;  // addresses in the first tile, from there to the next
#if ALONG_K_$A
#if STORE_STEP_$A > 1
#define position_$a(l) row_position(l, $A_LOADS, $A_VECTORS, STORE_ROWS_$A, STORE_STEP_$A)
#else
#define position_$a(l) load_position(l, $A_LOADS, $A_VECTORS)
#endif

void begin_tiles_$a(uint $row0) {
  $a_tile_start = 0;
  [[unroll]] for (uint l = 0; l < $A_LOADS_EACH; ++l) {
    const uvec2 at = position_$a(l);
    const uint $row = clamp_index($row0 + at.x, $m - 1);
    $a_first[l] = (offset_$a + $row * ld$a) / ELEMENTS_$A + at.y;
  }
}

void fetch_tile_$a() {
  [[unroll]] for (uint l = 0; l < $A_LOADS_EACH; ++l) $a_next[l] = $a[$a_first[l] + $a_tile_start];
  $a_tile_start += $A_VECTORS;
}

void fetch_last_tile_$a(uint k0) {
  [[unroll]] for (uint l = 0; l < $A_LOADS_EACH; ++l) {
    const uint first = position_$a(l).y, step = k0 / ELEMENTS_$A + first;
    $a_next[l] = keep_first($a[$a_first[l] - first + clamp_index(step, (k - 1) / ELEMENTS_$A)],
                           steps_left(step * ELEMENTS_$A));
  }
}

void put_tile_$a(uint stage) {
  [[unroll]] for (uint l = 0; l < $A_LOADS_EACH; ++l) {
#if !WHOLE_LOADS_$A
    if (!has_load(l, $A_LOADS)) break;
#endif
    const uvec2 at = position_$a(l);
#if VECTOR_WIDTH_$A == SHARED_WORDS
    put_shared($a_tile[stage][at.x * SHARED_STRIDE + at.y], $a_next[l]);
#else
    [[unroll]] for (uint w = 0; w < VECTOR_WIDTH_$A; ++w) {
      const uint to = at.y * VECTOR_WIDTH_$A + w;  // in words of a $row
      put_word(word_in($a_tile[stage][at.x * SHARED_STRIDE + to / SHARED_WORDS], to),
               word_of($a_next[l], w));
    }
#endif
  }
}

#elif STAGE == SHARED
uint vector_of_$a(uint l) { return load_position(l, $A_LOADS, TILE_K / $A_STEPS).x; }
uint step_of_$a(uint l) { return load_position(l, $A_LOADS, TILE_K / $A_STEPS).y * $A_STEPS; }

void begin_tiles_$a(uint $row0) {
  $a_tile_start = 0;
  [[unroll]] for (uint l = 0; l < $A_LOADS_EACH; ++l)
    $a_first[l] = offset_$a / ELEMENTS_$A + step_of_$a(l) * (ld$a / ELEMENTS_$A) +
                 clamp_index($row0 / ELEMENTS_$A + vector_of_$a(l), ($m - 1) / ELEMENTS_$A);
}

void fetch_tile_$a() {
  [[unroll]] for (uint l = 0; l < $A_LOADS_EACH; ++l)
    [[unroll]] for (uint s = 0; s < $A_STEPS; ++s)
      $a_next[l][s] = $a[$a_first[l] + ($a_tile_start + s * (ld$a / ELEMENTS_$A))];
  $a_tile_start += TILE_K * (ld$a / ELEMENTS_$A);
}

void fetch_last_tile_$a(uint k0) {
  [[unroll]] for (uint l = 0; l < $A_LOADS_EACH; ++l)
    [[unroll]] for (uint s = 0; s < $A_STEPS; ++s) {
      const uint first = step_of_$a(l), step = k0 + first + s;
      $a_next[l][s] =
          keep_first($a[$a_first[l] + (clamp_index(step, k - 1) - first) * (ld$a / ELEMENTS_$A)],
                     steps_left(step) > 0 ? ELEMENTS_$A : 0u);
    }
}

void put_tile_$a(uint stage) {
  [[unroll]] for (uint l = 0; l < $A_LOADS_EACH; ++l) {
#if !WHOLE_LOADS_$A
    if (!has_load(l, $A_LOADS)) break;
#endif
    [[unroll]] for (uint w = 0; w < VECTOR_WIDTH_$A; ++w) {
      uint words[SHARED_WORDS][ELEMENTS_PER_WORD];  // of each $row the words with $A_STEPS steps
      [[unroll]] for (uint s = 0; s < $A_STEPS; s += ELEMENTS_PER_WORD) {
        [[unroll]] for (uint e = 0; e < ELEMENTS_PER_WORD; ++e)
          words[s / ELEMENTS_PER_WORD][e] = word_of($a_next[l][s + e], w);
        transpose(words[s / ELEMENTS_PER_WORD]);
      }
      const uint $row = vector_of_$a(l) * ELEMENTS_$A + w * ELEMENTS_PER_WORD;
      const uint to = step_of_$a(l) / ELEMENTS_PER_WORD;  // in words of a $row
      [[unroll]] for (uint e = 0; e < ELEMENTS_PER_WORD; ++e)
#if FILLS_VECTORS_$A
        put_shared($a_tile[stage][($row + e) * SHARED_STRIDE + to / SHARED_WORDS],
                   shared_vector(words, e));
#else
        put_word(word_in($a_tile[stage][($row + e) * SHARED_STRIDE + to / SHARED_WORDS], to),
                 words[0][e]);
#endif
    }
  }
}

#else
void begin_tiles_$a(uint $row0) {
  $a_tile_start = 0;
  [[unroll]] for (uint l = 0; l < $A_LOADS_EACH; ++l) {
    const uvec2 at = load_position(l, $A_LOADS, $A_VECTORS);
    $a_first[l] = offset_$a / ELEMENTS_$A + at.x * (ld$a / ELEMENTS_$A) +
                 clamp_index($row0 / ELEMENTS_$A + at.y, ($m - 1) / ELEMENTS_$A);
  }
}

void fetch_tile_$a() {
  [[unroll]] for (uint l = 0; l < $A_LOADS_EACH; ++l) $a_next[l] = $a[$a_first[l] + $a_tile_start];
  $a_tile_start += TILE_K * (ld$a / ELEMENTS_$A);
}

void fetch_last_tile_$a(uint k0) {
  [[unroll]] for (uint l = 0; l < $A_LOADS_EACH; ++l) {
    const uint first = load_position(l, $A_LOADS, $A_VECTORS).x, step = k0 + first;
    $a_next[l] =
        keep_first($a[$a_first[l] + (clamp_index(step, k - 1) - first) * (ld$a / ELEMENTS_$A)],
                   steps_left(step) > 0 ? ELEMENTS_$A : 0u);
  }
}

void put_tile_$a(uint stage) {
  [[unroll]] for (uint l = 0; l < $A_LOADS_EACH; ++l) {
#if !WHOLE_LOADS_$A
    if (!has_load(l, $A_LOADS)) break;
#endif
    const uvec2 at = load_position(l, $A_LOADS, $A_VECTORS);
#if VECTOR_WIDTH_$A == SHARED_WORDS
    put_shared($a_tile[stage][at.x * $A_STRIDE + at.y], $a_next[l]);
#else
    [[unroll]] for (uint w = 0; w < VECTOR_WIDTH_$A; ++w) {
      const uint to = at.y * VECTOR_WIDTH_$A + w;  // in words of a step
      put_word(word_in($a_tile[stage][at.x * $A_STRIDE + to / SHARED_WORDS], to),
               word_of($a_next[l], w));
    }
#endif
  }
}
#endif

#if SCALES_SUMS
// An element in memory.
float element_$a(uint $row, uint step) {
#if ALONG_K_$A
  const uint i = offset_$a + $row * ld$a + step;
#else
  const uint i = offset_$a + step * ld$a + $row;
#endif
  const uint word = word_of($a[i / ELEMENTS_$A], i % ELEMENTS_$A / ELEMENTS_PER_WORD);
  return uintBitsToFloat(word >> (i % 2 * 16) << 16);  // a bfloat16 number
}
#define fragment_part_$a(stage, part, row, step) fragment_$a(stage, row, step)
#endif

// The fragment from a $row and a step of the tile on. Rows of a tile along k are rows of A or
// columns of B, those of another tile are steps of k.
#define TILE_ALONG_K_$A (ALONG_K_$A || STAGE == SHARED)
#if $A == A && TILE_ALONG_K_$A
#define fragment_a(stage, row, step)                                                   \
  coopMatLoadSharedA(a_tile[stage], (row) * SHARED_STRIDE + (step) / SHARED_ELEMENTS, \
                     CooperativeMatrixLayoutRowMajor, SHARED_STRIDE, NonPrivate)
#elif $A == A
#define fragment_a(stage, row, step)                                              \
  coopMatLoadSharedA(a_tile[stage], (step) * A_STRIDE + (row) / SHARED_ELEMENTS, \
                     CooperativeMatrixLayoutColumnMajor, A_STRIDE, NonPrivate)
#elif TILE_ALONG_K_$A
#define fragment_b(stage, step, column)                                                   \
  coopMatLoadSharedB(b_tile[stage], (column) * SHARED_STRIDE + (step) / SHARED_ELEMENTS, \
                     CooperativeMatrixLayoutColumnMajor, SHARED_STRIDE, NonPrivate)
#else
#define fragment_b(stage, step, column)                                              \
  coopMatLoadSharedB(b_tile[stage], (step) * B_STRIDE + (column) / SHARED_ELEMENTS, \
                     CooperativeMatrixLayoutRowMajor, B_STRIDE, NonPrivate)
#endif
