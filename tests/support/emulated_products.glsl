//: The rest of emulated_matrix.glsl: elements and products.
float bfloat16_in(uint word, uint i) {
  return uintBitsToFloat(word >> i % 2 * 16 << 16);
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

// As published of tensor cores: all addends are truncated one bit below the last of the largest
// one, and so is their sum, to the bits of float32. Half of the loop's trips find the largest one
// and half add, so that drivers compile one copy of the code that multiplies. Two powers of two,
// whose product may lie beyond float32, take the place of ldexp(), whose code is long.
const int EXTRA_BITS = 1;
float power_of_two(int e) { return uintBitsToFloat(uint(e + 127) << 23); }
float truncated_sum(MatrixA a, MatrixB b, float sum, uint row, uint column) {
  float largest = abs(sum), all = sum;
  int last = 0, total = 0;  // 2^last is a unit
  float half_unit = 0, other_half = 0;
  [[dont_unroll]] for (uint i = 0; i < 2 * MATRIX_K; ++i) {
    const uint step = i % MATRIX_K;
    const float product = element_in_a(a, row, step) * element_in_b(b, step, column);
    if (i < MATRIX_K) {
      largest = max(largest, abs(product));
      all += product;
    } else {
      total += int(product * half_unit * other_half);
    }
    last = int(floatBitsToUint(largest) >> 23) - 127 - 23 - EXTRA_BITS;
    half_unit = power_of_two(-last / 2);
    other_half = power_of_two(-last - -last / 2);
  }
  total += int(sum * half_unit * other_half);
  const uint size = uint(abs(total)), dropped = uint(max(findMSB(size) - 23, 0));
  const bool finite = (floatBitsToUint(all) & 0x7f800000u) != 0x7f800000u;
  return finite ? ldexp(float(size >> dropped << dropped) * float(sign(total)), last) : all;
}

MatrixC coopMatAdd(MatrixC x, MatrixC y) {
  for (uint i = 0; i < OWN_SUMS; ++i) x.own[i] += y.own[i];
  return x;
}

#if SCALES_SUMS
MatrixC coopMatMul(MatrixC x, MatrixC y) {
  for (uint i = 0; i < OWN_SUMS; ++i) x.own[i] *= y.own[i];
  return x;
}
MatrixC emulated_c(uint stage, uint element, uint matrix_layout, uint stride) {
  MatrixC c;
  for (uint i = 0; i < OWN_SUMS; ++i) {
    const uint at = i * SUBGROUP_SIZE + gl_SubgroupInvocationID, row = at / MATRIX_N, column = at % MATRIX_N;
    const bool by_rows = matrix_layout == CooperativeMatrixLayoutRowMajor;
    c.own[i] = uintBitsToFloat(b_scales[stage][element + (by_rows ? row * stride + column : column * stride + row)]);
  }
  return c;
}
#endif

MatrixC coopMatMulAdd(MatrixA a, MatrixB b, MatrixC c) {
  [[dont_unroll]] for (uint i = 0; i < OWN_SUMS; ++i) {
    const uint at = i * SUBGROUP_SIZE + gl_SubgroupInvocationID;
    c.own[i] = truncated_sum(a, b, c.own[i], at / MATRIX_N, at % MATRIX_N);
  }
  return c;
}
