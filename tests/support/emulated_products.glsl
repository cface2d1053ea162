//: The rest of emulated_matrix.glsl: products, of which each truncates its sum as tensor cores do, to
//: the bits that float32 has.
float bfloat16_in(uint word, uint i) {
  return uintBitsToFloat(i % ELEMENTS_PER_WORD == 0 ? word << 16 : word & 0xffff0000u);
}
float element_in_a(MatrixA a, uint row, uint step) {
  const bool along_k = a.matrix_layout == CooperativeMatrixLayoutRowMajor;
  const uint line = along_k ? row : step, at = along_k ? step : row;
  return bfloat16_in(word_in(a_tile[a.stage][a.element + line * a.stride + at / SHARED_ELEMENTS],
                             at / ELEMENTS_PER_WORD), at);
}
float element_in_b(MatrixB b, uint step, uint column) {
  const bool along_k = b.matrix_layout == CooperativeMatrixLayoutColumnMajor;
  const uint line = along_k ? column : step, at = along_k ? step : column;
  return bfloat16_in(word_in(b_tile[b.stage][b.element + line * b.stride + at / SHARED_ELEMENTS],
                             at / ELEMENTS_PER_WORD), at);
}

// Adds x to sum, and what float32 loses by that to lost.
void add_exactly(float x, inout float sum, inout float lost) {
  precise const float before = sum;
  precise const float after = before + x;
  precise const float added = after - before;
  precise const float error = (before - (after - added)) + (x - added);
  sum = after;
  lost += error;
}

float truncated_sum(MatrixA a, MatrixB b, float sum, uint row, uint column) {
  float lost = 0.0;
  [[dont_unroll]] for (uint step = 0; step < MATRIX_K; ++step)
    add_exactly(element_in_a(a, row, step) * element_in_b(b, step, column), sum, lost);
  float rest = 0.0;
  add_exactly(lost, sum, rest);
  // Where the sum was rounded away from zero, the next number towards zero.
  const bool away = sum != 0.0 && rest != 0.0 && (rest < 0.0) == (sum > 0.0);
  return away ? uintBitsToFloat(floatBitsToUint(sum) - 1u) : sum;
}

MatrixC coopMatAdd(MatrixC x, MatrixC y) {
  for (uint i = 0; i < OWN_SUMS; ++i) x.own[i] += y.own[i];
  return x;
}

MatrixC coopMatMulAdd(MatrixA a, MatrixB b, MatrixC c) {
  [[dont_unroll]] for (uint i = 0; i < OWN_SUMS; ++i) {
    const uint at = i * SUBGROUP_SIZE + gl_SubgroupInvocationID;
    c.own[i] = truncated_sum(a, b, c.own[i], at / MATRIX_N, at % MATRIX_N);
  }
  return c;
}
