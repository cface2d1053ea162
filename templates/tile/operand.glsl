//: An operand on its way from memory to its tile in shared memory: fetch_* loads the invocation's
//: vectors of a tile into registers, put_* stores them in the tile. Included for both operands:
//: what matters is whether vectors run along k, not which operand it is. Addresses count vectors.
#if ALONG_K_$A || VECTOR_WIDTH_$A == 1
void put_$a(uint slot, uint part, ELEMENT x) { $a_tile[slot][part] = x; }
#elif VECTOR_WIDTH_$A == 2
void put_$a(uint slot, uint part, ELEMENT_2 x) {
  $a_tile[slot][part] = x.x;
  $a_tile[slot][part + 1] = x.y;
}
#else
void put_$a(uint slot, uint part, ELEMENT_4 x) { $a_tile[slot] = x; }
#endif

#if ALONG_K_$A
// Vectors run along k and are transposed as they are written to shared memory.
const uint $A_VECTORS = TILE_K / VECTOR_WIDTH_$A;  // in a row of the tile
#if MULTIPLIES_INT8
// Vectors of a line that neighbouring invocations load: with eight, the stores of words by 32
// invocations go to 32 banks.
const uint $A_RUN = $A_VECTORS < 8 ? $A_VECTORS : 8;
#else
// Vectors of a line that neighbouring invocations load: with two, the transposing stores of 32
// invocations go to 32 banks (tests/generator/bank_conflicts_test.cpp).
const uint $A_RUN = VECTOR_WIDTH_$A == 4 && $A_VECTORS % 2 == 0 ? 2 : $A_VECTORS;
#endif
const uint $A_LOADS = TILE_$M * $A_VECTORS / LOCAL_SIZE;
VECTOR_$A $a_next[$A_LOADS];
// Of each of this invocation's vectors: its address in the first tile along k, and where its first
// element goes.
uint $a_address[$A_LOADS], $a_slot[$A_LOADS], $a_part[$A_LOADS];

void begin_tile_$a(uint $row0) {
  [[unroll]] for (uint l = 0; l < $A_LOADS; ++l) {
    const uvec2 v = load_position(l, $A_RUN, TILE_$M);
    $a_address[l] = (offset_$a + clamp_index($row0 + v.y, $m - 1) * ld$a) / VECTOR_WIDTH_$A + v.x;
#if MULTIPLIES_INT8
    $a_slot[l] = v.x * $A_STEP + v.y / 4;
#else
    $a_slot[l] = v.x * VECTOR_WIDTH_$A * $A_STEP + v.y / 4;
#endif
    $a_part[l] = v.y % 4;
  }
}

void fetch_tile_$a(uint k0) {
  [[unroll]] for (uint l = 0; l < $A_LOADS; ++l)
    $a_next[l] = fetch_$a($a_address[l] + k0 / VECTOR_WIDTH_$A);
}

void fetch_last_$a(uint k0) {
  [[unroll]] for (uint l = 0; l < $A_LOADS; ++l) {
    const uint x = load_position(l, $A_RUN, TILE_$M).x, step = k0 / VECTOR_WIDTH_$A + x;
    const uint present = clamp_index(step, (k - 1) / VECTOR_WIDTH_$A);
    $a_next[l] = keep_first(fetch_$a($a_address[l] - x + present), steps_left(step * VECTOR_WIDTH_$A));
  }
}

#if MULTIPLIES_INT8
// The vectors are rounded to 8-bit integers; a barrier lies between share_largest() and
// put_tile_$a(). All vectors that an invocation loads have the same place among the
// VECTORS_PER_SCALE that share a scale, so that one branch decides who stores it.
void share_largest() {
  [[unroll]] for (uint l = 0; l < $A_LOADS; ++l) {
    const uvec2 v = load_position(l, $A_RUN, TILE_$M);
    $a_largest[v.y * $A_VECTORS + v.x] = largest_magnitude($a_next[l]);
  }
}

void put_tile_$a(uint stage) {
  float scales[$A_LOADS];
  uint scale_slot[$A_LOADS];
  [[unroll]] for (uint l = 0; l < $A_LOADS; ++l) {
    const uvec2 v = load_position(l, $A_RUN, TILE_$M);
    const uint scale = v.x / VECTORS_PER_SCALE;
    uint largest = 0;
    [[unroll]] for (uint i = 0; i < VECTORS_PER_SCALE; ++i)
      largest = max(largest, $a_largest[v.y * $A_VECTORS + scale * VECTORS_PER_SCALE + i]);
    scale_slot[l] = scale * $A_STEP + v.y / 4;
    $a_tile[$a_slot[l] + stage][$a_part[l]] = rounded($a_next[l], largest);
    scales[l] = scale_of(largest);
  }
  if (gl_LocalInvocationIndex % VECTORS_PER_SCALE == 0)
    [[unroll]] for (uint l = 0; l < $A_LOADS; ++l) $a_scales[scale_slot[l]][$a_part[l]] = scales[l];
}
#else
void put_tile_$a(uint stage) {
  [[unroll]] for (uint l = 0; l < $A_LOADS; ++l)
    [[unroll]] for (uint w = 0; w < VECTOR_WIDTH_$A; ++w)
      put_$a($a_slot[l] + stage + w * $A_STEP, $a_part[l], component($a_next[l], w));
}
#endif
#else
// Vectors run along $m, as they do in shared memory.
const uint $A_VECTORS = TILE_$M / VECTOR_WIDTH_$A;  // in a step of the tile
const uint $A_LOADS = TILE_K * $A_VECTORS / LOCAL_SIZE;
VECTOR_$A $a_next[$A_LOADS];
// Of each of this invocation's vectors: its address in the first tile along k, and where it goes.
uint $a_address[$A_LOADS], $a_slot[$A_LOADS], $a_part[$A_LOADS];
uint $a_tile_stride, $a_walked;  // distance of tiles along k, and of the next tile from the first

void begin_tile_$a(uint $row0) {
  [[unroll]] for (uint l = 0; l < $A_LOADS; ++l) {
    const uvec2 v = load_position(l, $A_VECTORS, TILE_K);
    $a_address[l] = offset_$a / VECTOR_WIDTH_$A + v.y * (ld$a / VECTOR_WIDTH_$A) +
                   clamp_index($row0 / VECTOR_WIDTH_$A + v.x, ($m - 1) / VECTOR_WIDTH_$A);
    $a_slot[l] = v.y * $A_STEP + v.x * VECTOR_WIDTH_$A / 4;
    $a_part[l] = v.x * VECTOR_WIDTH_$A % 4;
  }
  $a_tile_stride = TILE_K * (ld$a / VECTOR_WIDTH_$A);
  $a_walked = 0;
}

void fetch_tile_$a(uint k0) {
  [[unroll]] for (uint l = 0; l < $A_LOADS; ++l) $a_next[l] = fetch_$a($a_address[l] + $a_walked);
  $a_walked += $a_tile_stride;
}

void fetch_last_$a(uint k0) {
  [[unroll]] for (uint l = 0; l < $A_LOADS; ++l) {
    const uint y = load_position(l, $A_VECTORS, TILE_K).y, present = clamp_index(k0 + y, k - 1);
    $a_next[l] = keep_first(fetch_$a($a_address[l] + (present - y) * (ld$a / VECTOR_WIDTH_$A)),
                           steps_left(k0 + y) > 0 ? VECTOR_WIDTH_$A : 0u);
  }
}

void put_tile_$a(uint stage) {
  [[unroll]] for (uint l = 0; l < $A_LOADS; ++l)
    put_$a($a_slot[l] + stage, $a_part[l], $a_next[l]);
}
#endif
