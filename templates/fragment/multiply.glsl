//: multiply() adds the products of the first `steps` steps of k of the fragments to `sums`. Depends on:
//:   STAGE              whether the lanes of a subgroup share the fragment of A
//:   B_FORMAT           whether products are sums over the steps that share a scale
//:   LOOP_OVER_COLUMNS  whether the columns of a quantised B are taken in a loop, one by one
//:   MULTIPLIES_INT8    whether A is rounded to 8-bit integers
#define PRODUCT_WIDTH (B_FORMAT == PLAIN || STAGE == SUBGROUP ? VECTOR_WIDTH_C : 1)
#include "common/product.glsl"

#if STAGE != SUBGROUP && B_FORMAT == PLAIN
// Every invocation reads A and B by itself.
void multiply(uint steps) {
  [[unroll]] for (uint i = 0; i < REG_M; ++i)
    [[unroll]] for (uint u = 0; u < steps; ++u) {
      const ELEMENT x = a_at(i, u);
      [[unroll]] for (uint j = 0; j < REG_N / VECTOR_WIDTH_C; ++j)
        sums[i][j] += product(x, b_at(u, j));
    }
}
#elif STAGE == SUBGROUP
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
#define FROM_16_LANES(lane) \
  FROM_4_LANES(lane) FROM_4_LANES(lane + 4) FROM_4_LANES(lane + 8) FROM_4_LANES(lane + 12)

void multiply(uint steps) {
  [[unroll]] for (uint v = 0; v < REG_M * UNROLL_K / 4 / SUBGROUP_SIZE; ++v) {
    const ELEMENT_4 own = a_own[v];
    const uint first = v * SUBGROUP_SIZE;
#if SUBGROUP_SIZE == 4
    FROM_4_LANES(0)
#elif SUBGROUP_SIZE == 8
    FROM_4_LANES(0) FROM_4_LANES(4)
#elif SUBGROUP_SIZE == 16
    FROM_16_LANES(0)
#elif SUBGROUP_SIZE == 32
    FROM_16_LANES(0) FROM_16_LANES(16)
#else
    FROM_16_LANES(0) FROM_16_LANES(16) FROM_16_LANES(32) FROM_16_LANES(48)
#endif
  }
}
#else
// B is quantised or in blocks (fragment/b_quantized.glsl, fragment/b_blocks.glsl): the sum over the
// steps that share a scale is scaled once. In the tail only the scales of its steps are loaded.
const uint COLUMNS_TOGETHER = COLUMN_BY_COLUMN == 1 ? 1 : REG_N;

uint b_first_column, b_k0;

void begin_b(uint column) {
  b_first_column = column;
  begin_rows();
  [[unroll]] for (uint j = 0; j < HELD_COLUMNS; ++j) begin_row(j, column + column_offset(j));
}

#if MULTIPLIES_INT8
// Sums of A's integers over the steps that share a scale of A.
int a_sums[REG_M][UNROLL_K / ROUNDED_STEPS];

void sum_a(uint steps) {
  [[unroll]] for (uint i = 0; i < REG_M; ++i)
    [[unroll]] for (uint w = 0; w < UNROLL_K / 4; ++w) {
      const uint x = 4 * w / ROUNDED_STEPS;
      if (4 * w % ROUNDED_STEPS == 0) a_sums[i][x] = 0;
      if (4 * w < steps) a_sums[i][x] += product(a_word(i, w), 0x01010101);
    }
}
#endif

void load_columns(uint k0, uint steps) {
  b_k0 = k0;
#if MULTIPLIES_INT8
  sum_a(steps);
#endif
#if !COLUMN_BY_COLUMN
  [[unroll]] for (uint j = 0; j < REG_N; ++j) load_column(j, k0, steps);
#endif
}
void load_b(uint k0) { load_columns(k0, UNROLL_K); }
void load_b_tail(uint k0) { load_columns(k0, TAIL_K); }

// The sums of the columns that are multiplied together.
ELEMENT column_sums[REG_M][COLUMNS_TOGETHER];

// The steps of one block among the first `steps` of this iteration. `held` is the place of the
// first column among those that are held.
#if MULTIPLIES_INT8
void multiply_block(uint held, uint s, uint steps) {
  [[unroll]] for (uint x = s * STEPS_PER_SCALE / ROUNDED_STEPS;
                  x < (s + 1) * STEPS_PER_SCALE / ROUNDED_STEPS; ++x) {
    int products[REG_M][COLUMNS_TOGETHER];
    [[unroll]] for (uint i = 0; i < REG_M; ++i)
      [[unroll]] for (uint j = 0; j < COLUMNS_TOGETHER; ++j) products[i][j] = 0;
    [[unroll]] for (uint w = x * ROUNDED_STEPS / 4; w < (x + 1) * ROUNDED_STEPS / 4; ++w)
      if (4 * w < steps)
        [[unroll]] for (uint j = 0; j < COLUMNS_TOGETHER; ++j) {
          const int b = b_word(w, held + j);
          [[unroll]] for (uint i = 0; i < REG_M; ++i)
            products[i][j] += product(a_word(i, w), b);
        }
    if (x * ROUNDED_STEPS < steps)
      [[unroll]] for (uint i = 0; i < REG_M; ++i)
        [[unroll]] for (uint j = 0; j < COLUMNS_TOGETHER; ++j)
          column_sums[i][j] += sum_of_elements(held + j, s, products[i][j], a_sums[i][x]) *
                               (1.0 / 127) * a_scale(i, x) * b_scale[held + j][s];
  }
}
#else
void multiply_block(uint held, uint s, uint steps) {
  ELEMENT block_sums[REG_M][COLUMNS_TOGETHER];
  [[unroll]] for (uint i = 0; i < REG_M; ++i)
    [[unroll]] for (uint j = 0; j < COLUMNS_TOGETHER; ++j) block_sums[i][j] = ELEMENT(0);
  [[unroll]] for (uint u = 0; u < STEPS_PER_SCALE; ++u)
    if (s * STEPS_PER_SCALE + u < steps)
      [[unroll]] for (uint j = 0; j < COLUMNS_TOGETHER; ++j) {
        const ELEMENT b = ELEMENT(b_value(s * STEPS_PER_SCALE + u, held + j));
        [[unroll]] for (uint i = 0; i < REG_M; ++i)
          block_sums[i][j] += product(a_at(i, s * STEPS_PER_SCALE + u), b);
      }
  [[unroll]] for (uint i = 0; i < REG_M; ++i)
    [[unroll]] for (uint j = 0; j < COLUMNS_TOGETHER; ++j)
      column_sums[i][j] += block_sums[i][j] * ELEMENT(b_scale[held + j][s]);
}
#endif

// Columns from `first` on, each as a whole, so that a sum is read and written once where `first` is
// a variable. In a loop over columns of few rows a part is loaded right before the part in front of
// it is multiplied: the processor fetches what lies behind a load while it multiplies.
void multiply_columns(uint first, uint held, uint steps) {
  // load_part() takes parts of whole trips only.
  const uint parts =
      LOOP_OVER_COLUMNS == 1 && REG_M <= 2 && steps == UNROLL_K ? UNROLL_K / PART : 0;
  [[unroll]] for (uint i = 0; i < REG_M; ++i)
    [[unroll]] for (uint j = 0; j < COLUMNS_TOGETHER; ++j) column_sums[i][j] = sums[i][first + j];
#if COLUMN_BY_COLUMN
  if (parts == 0)
    load_column(held, b_k0, steps);
  else
    load_part(held, b_k0, 0);
#endif
  [[unroll]] for (uint s = 0; s < UNROLL_K / STEPS_PER_SCALE; ++s)
    if (s * STEPS_PER_SCALE < steps) {
      const uint next = s * STEPS_PER_SCALE / PART + 1;
      if (s * STEPS_PER_SCALE % PART == 0 && next < parts) load_part(held, b_k0, next);
      multiply_block(held, s, steps);
    }
  [[unroll]] for (uint i = 0; i < REG_M; ++i)
    [[unroll]] for (uint j = 0; j < COLUMNS_TOGETHER; ++j) sums[i][first + j] = column_sums[i][j];
}

// In a loop over columns the sums move on by one place for each column, so that every place is a
// constant: GPUs keep variable places in memory. Many sums of one row are for lavapipe, where a
// read and a write at a variable place cost less than to move them.
const bool MOVES_SUMS = REG_M > 1 || REG_N < 16;

#if LOOP_OVER_COLUMNS
void multiply(uint steps) {
  [[dont_unroll]] for (uint j = 0; j < REG_N; ++j) {
    begin_row(0, b_first_column + column_offset(j));
    multiply_columns(MOVES_SUMS ? 0 : j, 0, steps);
    if (MOVES_SUMS)
      [[unroll]] for (uint i = 0; i < REG_M; ++i) {
        const ELEMENT sum = sums[i][0];
        [[unroll]] for (uint c = 0; c + 1 < REG_N; ++c) sums[i][c] = sums[i][c + 1];
        sums[i][REG_N - 1] = sum;
      }
  }
}
#else
void multiply(uint steps) {
  [[unroll]] for (uint j = 0; j < REG_N; j += COLUMNS_TOGETHER) multiply_columns(j, j, steps);
}
#endif
#endif
