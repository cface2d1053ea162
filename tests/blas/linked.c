/* This program is linked against the drop-in instead of -lblas -llapack. It calls GEMMs, and
 * functions that Rooftile does not replace: functions with results in registers, CBLAS, LAPACK,
 * and OpenBLAS' own. It prints "right" if all results are right. */
#include <complex.h>
#include <math.h>
#include <stdio.h>

void sgemm_(const char*, const char*, const int*, const int*, const int*, const float*,
            const float*, const int*, const float*, const int*, const float*, float*, const int*);
float sdot_(const int*, const float*, const int*, const float*, const int*);
double ddot_(const int*, const double*, const int*, const double*, const int*);
float complex cdotu_(const int*, const float complex*, const int*, const float complex*,
                     const int*);
double cblas_dnrm2(int, const double*, int);
void cblas_dgemm(int, int, int, int, int, int, double, const double*, int, const double*, int,
                 double, double*, int);
void dgesv_(const int*, const int*, double*, const int*, int*, double*, const int*, int*);
int openblas_get_num_threads(void);

static int wrong = 0;
static void expect(const char* what, double got, double wanted) {
  if (fabs(got - wanted) <= 1e-6 * fabs(wanted)) return;
  printf("%s: %g instead of %g\n", what, got, wanted);
  wrong = 1;
}

int main(void) {
  const int one = 1, two = 2;
  const float alpha = 2, beta = 0;
  const float a[] = {1, 2, 3, 4}, b[] = {5, 6, 7, 8};
  float c[] = {NAN, NAN, NAN, NAN};
  sgemm_("N", "T", &two, &two, &two, &alpha, a, &two, b, &two, &beta, c, &two);
  expect("sgemm_", c[1], 2 * (2 * 5 + 4 * 7));
  expect("sdot_", sdot_(&two, a, &one, b, &one), 17);
  const double x[] = {3, 4}, y[] = {2, 0.5};
  for (int i = 0; i < 2; ++i)
    expect("ddot_", ddot_(&two, x, &one, y, &one), 8); /* The first call looks it up. */
  const float complex u[] = {1 + 2 * I, 3}, v[] = {I, 2};
  expect("cdotu_", crealf(cdotu_(&two, u, &one, v, &one)), 4);
  expect("cblas_dnrm2", cblas_dnrm2(2, x, 1), 5);
  double d[4];
  cblas_dgemm(101, 111, 112, 2, 2, 1, 1.0, x, 1, y, 1, 0.0, d, 2); /* uses the stack, too */
  expect("cblas_dgemm", d[2], 8);
  double matrix[] = {2, 0, 0, 4}, right[] = {1, 1};
  int pivots[2], info = -1;
  dgesv_(&two, &one, matrix, &two, pivots, right, &two, &info);
  expect("dgesv_", info == 0 ? right[1] : NAN, 0.25);
  expect("openblas_get_num_threads", openblas_get_num_threads() >= 1, 1);
  if (!wrong) printf("right\n");
  return wrong;
}
