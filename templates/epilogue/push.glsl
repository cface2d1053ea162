//: The epilogue's push constants: byte for byte EpiloguePushConstants of generator/emit.h; offsets
//: are in elements.
#if GROUPED
  // Offsets are those of the first row and the first expert. stride_residual is the distance from a
  // row of the residual to the next.
  uint first_row_scale, first_column_scale, first_bias;
#else
  uint offset_row_scale, offset_column_scale, offset_bias;
#endif
  uint base_residual, ld_residual, stride_residual;
#if TYPE_C == F64
  uint clamp_words[4];  // two doubles, as words: their offset may be no multiple of 8 bytes
#else
  float clamp_low, clamp_high;
#endif
