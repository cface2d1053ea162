// C, once as elements and once as vectors: the vector view is used where ldc and the offset allow it.
layout(binding = 2, std430) buffer OperandC { float c[]; };
layout(binding = 2, std430) buffer OperandCVectors { VECTOR_C c_vectors[]; };

// Passes over the block rather than branches per element: each pass is one straight run of loads or stores.
void store_sums(uvec2 tile, uint row, uint column) {
  [[unroll]] for (uint i = 0; i < REG_M; ++i)
    [[unroll]] for (uint j = 0; j < REG_N / VECTOR_WIDTH_C; ++j) sums[i][j] *= alpha;
  if (beta != 0.0) {
    [[unroll]] for (uint i = 0; i < REG_M; ++i)
      [[unroll]] for (uint j = 0; j < REG_N / VECTOR_WIDTH_C; ++j) {
        VECTOR_C old;
        [[unroll]] for (uint w = 0; w < VECTOR_WIDTH_C; ++w)
          set_component(old, w, c[offset_c + clamp_index(row + row_at(i), m - 1) * ldc +
                                  clamp_index(column + column_at(j) + w, n - 1)]);
        sums[i][j] += beta * old;
      }
  }
  if (tile_inside(tile) && (ldc | offset_c) % VECTOR_WIDTH_C == 0) {
    [[unroll]] for (uint i = 0; i < REG_M; ++i)
      [[unroll]] for (uint j = 0; j < REG_N / VECTOR_WIDTH_C; ++j)
        c_vectors[(offset_c + (row + row_at(i)) * ldc + column + column_at(j)) / VECTOR_WIDTH_C] =
            sums[i][j];
  } else {
    [[unroll]] for (uint i = 0; i < REG_M; ++i)
      [[unroll]] for (uint j = 0; j < REG_N / VECTOR_WIDTH_C; ++j)
        [[unroll]] for (uint w = 0; w < VECTOR_WIDTH_C; ++w)
          if (row + row_at(i) < m && column + column_at(j) + w < n)
            c[offset_c + (row + row_at(i)) * ldc + column + column_at(j) + w] =
                component(sums[i][j], w);
  }
}
