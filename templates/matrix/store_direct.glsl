// C has the type of the sums: where alpha is 1 and beta 0, fragments are C.
spirv_instruction(id = 4458)
void store_global_c(spirv_by_reference RESULT_C p, MatrixC x, uint layout_of, uint stride);

bool stores_fragments() { return alpha == 1.0 && beta == 0.0; }
void store_fragments(uint row, uint column) {
  const uint to = (offset_c + row * ldc + column) / VECTOR_WIDTH_C, stride = ldc / VECTOR_WIDTH_C;
  [[unroll]] for (uint i = 0; i < FRAGMENTS_M; ++i)
    [[unroll]] for (uint j = 0; j < FRAGMENTS_N; ++j)
      store_global_c(c_vectors[to + i * MATRIX_M * stride + j * (MATRIX_N / VECTOR_WIDTH_C)], sums[i][j],
                     BY_ROWS, stride);
}
