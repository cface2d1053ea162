/* C := op(A) * op(B) through the C ABI: opens a context, says where the product will run, computes
 * it and checks one element. Exit code 0: right, 1: a call failed or a result is wrong, 2: usage.
 *
 *   sgemm [M N K]       sizes, 96 x 80 x 112 when not given */
#include <math.h>
#include <rooftile/rooftile.h>
#include <stdio.h>
#include <stdlib.h>

static const char* const kTiers[] = {"auto", "device", "host", "host1", "host64"};

static int failed(const char* what) {
  fprintf(stderr, "%s: %s\n", what, rooftile_last_error());
  return 1;
}

static int multiply(rooftile_context* context, int64_t m, int64_t n, int64_t k, const float* a,
                    const float* b, float* c) {
  /* Fields that are not named are zero: row-major, not transposed, beta 0, tier auto. */
  const rooftile_sgemm_args args = {.struct_size = sizeof args,
                                    .m = m,
                                    .n = n,
                                    .k = k,
                                    .alpha = 1,
                                    .a = a,
                                    .lda = k,
                                    .b = b,
                                    .ldb = n,
                                    .c = c,
                                    .ldc = n};
  rooftile_decision decision = {.struct_size = sizeof decision};
  if (rooftile_explain(context, &args, &decision) != ROOFTILE_OK) return failed("rooftile_explain");
  printf("tier: %s\n", kTiers[decision.tier]);
  if (decision.kernel[0] != '\0') printf("kernel: %s\n", decision.kernel);
  if (decision.veto[0] != '\0') printf("not on a device: %s\n", decision.veto);

  if (rooftile_sgemm(context, &args) != ROOFTILE_OK) return failed("rooftile_sgemm");

  double expected = 0, magnitude = 0;
  for (int64_t p = 0; p < k; ++p) {
    const double product = (double)a[(m - 1) * k + p] * b[p * n + n - 1];
    expected += product;
    magnitude += fabs(product);
  }
  const float got = c[(m - 1) * n + n - 1];
  printf("C[%lld][%lld] = %g, in float64 %g\n", (long long)m - 1, (long long)n - 1, got, expected);
  /* The standard bound for a sum of k float32 products in any order. */
  if (!(fabs(got - expected) <= (double)(k + 3) * 0x1p-23 * magnitude)) {
    fprintf(stderr, "the result is wrong\n");
    return 1;
  }
  printf("right\n");
  return 0;
}

int main(int argc, char** argv) {
  int64_t sizes[3] = {96, 80, 112};
  for (int i = 0; argc == 4 && i < 3; ++i) sizes[i] = strtoll(argv[i + 1], NULL, 10);
  const int64_t m = sizes[0], n = sizes[1], k = sizes[2];
  if ((argc != 1 && argc != 4) || m < 1 || n < 1 || k < 1) {
    fprintf(stderr, "usage: %s [M N K]\n", argv[0]);
    return 2;
  }

  rooftile_context* context = NULL;
  if (rooftile_open(NULL, &context) != ROOFTILE_OK) return failed("rooftile_open");

  float* a = malloc((size_t)(m * k) * sizeof *a);
  float* b = malloc((size_t)(k * n) * sizeof *b);
  float* c = malloc((size_t)(m * n) * sizeof *c);
  int exit_code = 1;
  if (a == NULL || b == NULL || c == NULL) {
    fprintf(stderr, "out of memory\n");
  } else {
    for (int64_t i = 0; i < m * k; ++i) a[i] = (float)(i % 13 - 6) / 8;
    for (int64_t i = 0; i < k * n; ++i) b[i] = (float)(i % 11 - 5) / 4;
    exit_code = multiply(context, m, n, k, a, b, c);
  }
  free(a);
  free(b);
  free(c);
  rooftile_close(context);
  return exit_code;
}
