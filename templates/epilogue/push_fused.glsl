  // Byte for byte EpiloguePushConstants of generator/emit.h; offsets are in elements.
  uint offset_row_scale, offset_column_scale, offset_bias;
  uint base_residual, ld_residual, stride_residual;
  float clamp_low, clamp_high;
