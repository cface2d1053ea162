//: The problem, in push constants, and what of it a workgroup computes (begin_gemm).
//: C := alpha * op(A) * op(B) + beta * C, row-major: op(A) is m x k, op(B) is k x n, C is m x n.
//: Leading dimensions, strides and offsets are in elements.
#if !GROUPED
// Byte for byte GemmPushConstants of generator/emit.h.
layout(push_constant) uniform Problem {
  uint m, n, depth, lda, ldb, ldc;  // depth: the problem's k
#if TYPE_C == F64
  double alpha, beta;
#else
  float alpha, beta;
#endif
  uint base_a, base_b, base_c;        // offsets of the batch's first matrices
  uint stride_a, stride_b, stride_c;  // from a matrix to the next; of C, from a z of the grid
  uint step_a, step_b;                // from a step of k to the next
  uint batch, split_depth;            // matrices in the batch; steps of k in one split
#if EPILOGUE
#include "epilogue/push.glsl"
#endif
};
#include "epilogue/finish.glsl"
#include "load/types.glsl"

// What this workgroup computes: its number of steps of k, and the offsets of its operands.
uint k, offset_a, offset_b, offset_c;

// The grid's z counts the matrices of the batch, and all of them again for every further split of
// k.
void begin_gemm(uint z) {
  const uint batch_index = z % batch, first_step = z / batch * split_depth;
  k = min(depth - first_step, split_depth);
  offset_a = base_a + batch_index * stride_a + first_step * step_a;
  offset_b = base_b + batch_index * stride_b + first_step * step_b;
#if ATOMIC_SPLIT_K
  offset_c = base_c + batch_index * stride_c;  // all splits add into one buffer
#else
  offset_c = base_c + z * stride_c;
#endif
#if EPILOGUE
  begin_epilogue(batch_index);
#endif
}
#else
// A grouped GEMM: the rows of A and C are divided into groups, and the rows of a group are
// multiplied with the B of the group's expert. A list says for each row of tiles of the grid which
// rows of which group it computes. Rows are numbered along the grid as without groups, so that row
// r of the kernel is in tile r / TILE_M of this dispatch; what differs is where such a row lies in
// memory: the offsets of A and C begin at a row that may lie before the operand, and their sum with
// r * ld wraps around to the right address. A tile's rows end at m.
//
// Byte for byte GroupedPushConstants of generator/emit.h.
layout(push_constant) uniform Problem {
  uint all_rows, n, depth, lda, ldb, ldc;  // depth: the problem's k
#if TYPE_C == F64
  double alpha, beta;
#else
  float alpha, beta;
#endif
  uint base_a, base_b, base_c;  // offsets of the first row of A and C, and of the first expert's B
  uint line_a, expert_b;        // distance from a row of A to the next, from an expert's B to the next
  uint unused_1, unused_2;
  uint batch;           // 1: a kernel with a batch names it
  uint expert_columns;  // distance from an expert's vectors of columns to the next one's
  uint first_tile;      // this dispatch's first tile in the list
#if EPILOGUE
#include "epilogue/push.glsl"
#endif
};
// Byte for byte GroupTile of core/groups.h: expert, first row, rows.
layout(binding = GROUP_BINDING, std430) readonly buffer GroupTiles { uvec4 group_tiles[]; };

// What this workgroup computes: the end of its rows, its steps of k, and the offsets of its
// operands.
uint m, k, offset_a, offset_b, offset_c;
// And those of the epilogue's vectors.
uint offset_row_scale, offset_column_scale, offset_bias;

#include "epilogue/finish.glsl"
#include "load/types.glsl"

uvec2 tile_position();

void begin_gemm(uint z) {
  const uint tile = tile_position().y;
  const uvec4 rows = group_tiles[first_tile + tile];
  const uint row = tile * TILE_M, skipped = rows.y - row;  // what lies before row 0, modulo 2^32
  m = rows.z > 0 ? row + rows.z : 0;
  k = rows.z > 0 ? depth : 0;  // nothing is read for a tile without rows
  offset_a = base_a + skipped * line_a;
  offset_b = base_b + rows.x * expert_b;
  offset_c = base_c + skipped * ldc;
#if EPILOGUE
  offset_row_scale = first_row_scale + skipped;
  offset_column_scale = first_column_scale + rows.x * expert_columns;
#if BIAS_ROW
  offset_bias = first_bias + skipped;
#else
  offset_bias = first_bias + rows.x * expert_columns;
#endif
  begin_epilogue(skipped);
#endif
}
#endif
