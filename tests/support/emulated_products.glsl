//: The rest of emulated_matrix.glsl: elements and products.
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

// As published of tensor cores: all addends are truncated one bit below the last of the largest one,
// and so is their sum, to the bits of float32.
const int EXTRA_BITS = 1;
float truncated_sum(MatrixA a, MatrixB b, float sum, uint row, uint column) {
  float largest = abs(sum), all = sum;
  [[dont_unroll]] for (uint step = 0; step < MATRIX_K; ++step) {
    const float product = element_in_a(a, row, step) * element_in_b(b, step, column);
    largest = max(largest, abs(product));
    all += product;
  }
  const int last = int(floatBitsToUint(largest) >> 23) - 127 - 23 - EXTRA_BITS;  // 2^last is a unit
  int total = int(ldexp(sum, -last));
  [[dont_unroll]] for (uint step = 0; step < MATRIX_K; ++step)
    total += int(ldexp(element_in_a(a, row, step) * element_in_b(b, step, column), -last));
  const uint size = uint(abs(total)), dropped = uint(max(findMSB(size) - 23, 0));
  const bool finite = (floatBitsToUint(all) & 0x7f800000u) != 0x7f800000u;
  return finite ? ldexp(float(size >> dropped << dropped) * float(sign(total)), last) : all;
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
