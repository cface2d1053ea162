// C, once as elements and once as vectors: the vector view is used where ldc and the offset allow
// it.
layout(binding = 2, std430) buffer OperandC { float c[]; };
layout(binding = 2, std430) buffer OperandCVectors { VECTOR_C c_vectors[]; };

void store_elements(uint target, uint columns, VECTOR_C sum, uint row, uint column) {
  [[unroll]] for (uint w = 0; w < VECTOR_WIDTH_C; ++w)
    if (w < columns) {
      const float old = beta != 0.0 ? beta * c[target + w] : 0.0;  // beta 0: C may hold NaN
      c[target + w] = finish(component(sum, w), old, row, column + w);
    }
}

// A loop at run time over rows, which moves the next row of sums to the front. Unrolled, the
// store of 32 x 16 sums takes lavapipe 22.3 15 s to compile instead of 0.2 s; indexing sums by a
// variable would take them out of registers.
void store_sums(uvec2 tile, uint row, uint column) {
  const bool vectors = columns_inside(tile) && (ldc | offset_c) % VECTOR_WIDTH_C == 0;
  [[dont_unroll]] for (uint i = 0; i < REG_M && row + row_at(i) < m; ++i) {
    [[unroll]] for (uint j = 0; j < REG_N / VECTOR_WIDTH_C; ++j) {
      const uint to_column = column + column_at(j);
      const uint target = offset_c + (row + row_at(i)) * ldc + to_column;
      if (vectors) {
        VECTOR_C old = VECTOR_C(0);
        if (beta != 0.0) old = beta * c_vectors[target / VECTOR_WIDTH_C];
        c_vectors[target / VECTOR_WIDTH_C] = finish(sums[0][j], old, row + row_at(i), to_column);
      } else if (to_column < n) {
        store_elements(target, n - to_column, sums[0][j], row + row_at(i), to_column);
      }
    }
    [[unroll]] for (uint next = 1; next < REG_M; ++next)
      [[unroll]] for (uint j = 0; j < REG_N / VECTOR_WIDTH_C; ++j)
        sums[next - 1][j] = sums[next][j];
  }
}
