// C is float16, and the sums are float32: where alpha is 1 and beta 0, the matrix unit's registers
// are narrowed and stored to C, in vectors of 16 bytes.
layout(binding = 2, std430) buffer OperandCWords { uvec4 c_quads[]; };

#define MatrixNarrow MATRIX(OPERAND_TAG, ROWS_C, COLUMNS_C, USE_C)
spirv_instruction(id = 115) MatrixNarrow narrow_sums(MatrixC x);
spirv_instruction(id = 4458)
void store_narrow(spirv_by_reference uvec4 p, MatrixNarrow x, uint layout_of, uint stride);

const uint QUAD_ELEMENTS = 8;
bool stores_fragments() { return alpha == 1.0 && beta == 0.0 && (ldc | offset_c) % QUAD_ELEMENTS == 0; }
void store_fragments(uint row, uint column) {
  const uint to = (offset_c + row * ldc + column) / QUAD_ELEMENTS, stride = ldc / QUAD_ELEMENTS;
  [[unroll]] for (uint i = 0; i < FRAGMENTS_M; ++i)
    [[unroll]] for (uint j = 0; j < FRAGMENTS_N; ++j)
      store_narrow(c_quads[to + i * MATRIX_M * stride + j * (MATRIX_N / QUAD_ELEMENTS)], narrow_sums(sums[i][j]),
                   BY_ROWS, stride);
}
