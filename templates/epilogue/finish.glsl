//: From a sum to an element of C: finish(), where old is beta * C already.
#if EPILOGUE
// The epilogue that is fused into the kernel; core/epilogue.h defines it. Its vectors (scales and
// bias) lie in one buffer at EPILOGUE_BINDING, the residual in the next binding.
#if TYPE_C == F64
layout(binding = EPILOGUE_BINDING, std430) readonly buffer Vectors { double vectors[]; };
layout(binding = EPILOGUE_BINDING + 1, std430) readonly buffer Residual { double residual[]; };
#else
layout(binding = EPILOGUE_BINDING, std430) readonly buffer Vectors { float vectors[]; };
layout(binding = EPILOGUE_BINDING + 1, std430) readonly buffer Residual { float residual[]; };
#endif

uint offset_residual;
void begin_epilogue(uint batch_index) {
  offset_residual = base_residual + batch_index * stride_residual;
}

#include "epilogue/activate.glsl"

#if TYPE_C == F64
double finish(double sum, double old, uint row, uint column) {
  const double clamp_low = packDouble2x32(uvec2(clamp_words[0], clamp_words[1]));
  const double clamp_high = packDouble2x32(uvec2(clamp_words[2], clamp_words[3]));
  double y = alpha * sum;
#else
float finish(float sum, float old, uint row, uint column) {
  float y = alpha * sum;
#endif
#if ROW_SCALE
  y *= vectors[offset_row_scale + row];
#endif
#if COLUMN_SCALE
  y *= vectors[offset_column_scale + column];
#endif
  y += old;
#if BIAS_ROW
  y += vectors[offset_bias + row];
#elif BIAS_COLUMN
  y += vectors[offset_bias + column];
#endif
  y = activate(y);
#if RESIDUAL
  y += residual[offset_residual + row * ld_residual + column];
#endif
#if CLAMP
  if (!is_nan(y)) y = y < clamp_low ? clamp_low : y > clamp_high ? clamp_high : y;
#endif
  return y;
}
#if TYPE_C == F64 && VECTOR_WIDTH_C > 1
RESULT_C finish(RESULT_C sum, RESULT_C old, uint row, uint column) {
  RESULT_C y;
  [[unroll]] for (uint w = 0; w < VECTOR_WIDTH_C; ++w)
    y[w] = finish(sum[w], old[w], row, column + w);
  return y;
}
#elif VECTOR_WIDTH_C > 1
vec2 finish(vec2 sum, vec2 old, uint row, uint column) {
  return vec2(finish(sum.x, old.x, row, column), finish(sum.y, old.y, row, column + 1));
}
#endif
#if TYPE_C != F64 && VECTOR_WIDTH_C == 4
vec4 finish(vec4 sum, vec4 old, uint row, uint column) {
  return vec4(finish(sum.xy, old.xy, row, column), finish(sum.zw, old.zw, row, column + 2));
}
#endif
#elif TYPE_C == I32
// Integer C: C := AB + beta * C.
int finish(int sum, int old, uint row, uint column) { return sum + old; }
#if VECTOR_WIDTH_C > 1
RESULT_C finish(RESULT_C sum, RESULT_C old, uint row, uint column) { return sum + old; }
#endif
#else
// C := alpha * AB + beta * C.
#if TYPE_C == F64
double finish(double sum, double old, uint row, uint column) { return alpha * sum + old; }
#else
float finish(float sum, float old, uint row, uint column) { return alpha * sum + old; }
#endif
#if VECTOR_WIDTH_C > 1
RESULT_C finish(RESULT_C sum, RESULT_C old, uint row, uint column) { return alpha * sum + old; }
#endif
#endif
