/* y := x * W with W in 4 bits, in the layout of ONNX Runtime's MatMulNBits: makes weights,
 * quantises them, multiplies and compares with the same sum in float64. Exit code 0: right, 1: a
 * call failed or a result is wrong. */
#include <math.h>
#include <rooftile/rooftile.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { kN = 96, kK = 200, kBlock = 32, kBlocks = (kK + kBlock - 1) / kBlock };

static uint8_t values[kN][kBlocks][kBlock / 2];
static float scales[kN][kBlocks];
static float x[kK], y[kN];

static float weight(int row, int step) { return sinf((float)(row * kK + step)); }

/* The block's largest magnitude becomes 7 steps from the zero point, which is 8. */
static void quantize(int row, int block) {
  float largest = 0;
  const int first = block * kBlock, last = first + kBlock < kK ? first + kBlock : kK;
  for (int step = first; step < last; ++step) largest = fmaxf(largest, fabsf(weight(row, step)));
  const float scale = scales[row][block] = largest / 7;
  for (int step = first; step < first + kBlock; ++step) {
    const float steps = step < last && scale > 0 ? roundf(weight(row, step) / scale) : 0;
    const unsigned value = (unsigned)((int)steps + 8);
    values[row][block][(step - first) / 2] |= (uint8_t)(value << (step % 2 * 4));
  }
}

static double reference(int row, double* magnitude) {
  double sum = 0;
  *magnitude = 0;
  for (int step = 0; step < kK; ++step) {
    const int in_block = step % kBlock;
    const int value = values[row][step / kBlock][in_block / 2] >> (in_block % 2 * 4) & 15;
    const double scale = (double)scales[row][step / kBlock];
    sum += (double)x[step] * (value - 8) * scale;
    *magnitude += fabs((double)x[step]) * (value + 8) * fabs(scale);
  }
  return sum;
}

int main(void) {
  for (int row = 0; row < kN; ++row)
    for (int block = 0; block < kBlocks; ++block) quantize(row, block);
  for (int step = 0; step < kK; ++step) x[step] = cosf((float)step);

  rooftile_context* context = NULL;
  if (rooftile_open(NULL, &context) != ROOFTILE_OK) {
    fprintf(stderr, "rooftile_open: %s\n", rooftile_last_error());
    return 1;
  }
  const rooftile_quantization quantization = {.struct_size = sizeof quantization,
                                              .bits = 4,
                                              .block = kBlock,
                                              .values_bytes = sizeof values,
                                              .scales = scales,
                                              .scales_bytes = sizeof scales};
  const rooftile_gemm_args args = {.struct_size = sizeof args,
                                   .trans_b = ROOFTILE_TRANSPOSE,
                                   .m = 1,
                                   .n = kN,
                                   .k = kK,
                                   .batch = 1,
                                   .alpha = 1,
                                   .a = x,
                                   .b = values,
                                   .c = y,
                                   .lda = kK,
                                   .ldc = kN,
                                   .quantization = &quantization};
  const rooftile_status status = rooftile_gemm(context, &args);
  if (status != ROOFTILE_OK) fprintf(stderr, "rooftile_gemm: %s\n", rooftile_last_error());
  rooftile_close(context);
  if (status != ROOFTILE_OK) return 1;

  double worst = 0; /* error over its bound: k + 7 roundings of float32 */
  for (int row = 0; row < kN; ++row) {
    double magnitude = 0;
    const double expected = reference(row, &magnitude);
    worst = fmax(worst, fabs((double)y[row] - expected) / ((kK + 7) * ldexp(magnitude, -24)));
  }
  printf("y[0] = %.6f, largest error %.3f of its bound\n%s\n", (double)y[0], worst,
         worst <= 1 ? "right" : "wrong");
  return worst <= 1 ? 0 : 1;
}
