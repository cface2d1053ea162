// The eight values of a word of 4-bit values, as float16.
VECTOR_B dequantized(uint word, float scale, float zero_point) {
  VECTOR_B halves;
  [[unroll]] for (uint i = 0; i < VALUES_PER_WORD; i += 2)
    halves[i / 2] = packHalf2x16(vec2(value_minus_zero_point(word, i, zero_point),
                                      value_minus_zero_point(word, i + 1, zero_point)) * scale);
  return halves;
}
