// sgemv_ and cblas_sgemv: in float64 where $ROOFTILE_PRECISION requires it, else by the real
// library.
#include "runtime/blas/arguments.h"
#include "runtime/blas/environment.h"
#include "runtime/blas/float64_sums.h"

using namespace rooftile::blas;

namespace {

bool is_legal(const Gemv& v) {
  return is_trans(v.trans) && v.m >= 0 && v.n >= 0 && is_ld(v.lda, v.m) && v.incx != 0 &&
         v.incy != 0;
}

/// A row-major A is stored as the transpose of a column-major matrix.
Gemv column_major(int order, Gemv v) {
  if (order != kRowMajor) return v;
  v.trans = flipped(v.trans);
  std::swap(v.m, v.n);
  return v;
}

/// Runs a legal call. Where A and x are not read, y := beta * y is rounded only once in float32
/// too.
void run(const Gemv& v) {
  const bool reads = v.m > 0 && v.n > 0 && v.alpha != 0.0f;
  if (reads && sums_in_float64() && gemv_in_float64(v)) return;
  real_routines<float>().gemv(&v.trans, &v.m, &v.n, &v.alpha, v.a, &v.lda, v.x, &v.incx, &v.beta,
                              v.y, &v.incy, 1);
}

}  // namespace

ROOFTILE_BLAS_API void sgemv_(const char* trans, const Int* m, const Int* n, const float* alpha,
                              const float* a, const Int* lda, const float* x, const Int* incx,
                              const float* beta, float* y, const Int* incy) {
  const Gemv v = {trans_letter(trans), *m, *n, *alpha, a, *lda, x, *incx, *beta, y, *incy};
  if (is_legal(v)) return run(v);
  real_routines<float>().gemv(trans, m, n, alpha, a, lda, x, incx, beta, y, incy, 1);
}

ROOFTILE_BLAS_API void cblas_sgemv(int order, int trans, Int m, Int n, float alpha, const float* a,
                                   Int lda, const float* x, Int incx, float beta, float* y,
                                   Int incy) {
  const Gemv v =
      column_major(order, {trans_letter(trans), m, n, alpha, a, lda, x, incx, beta, y, incy});
  if (is_order(order) && is_legal(v)) return run(v);
  real_function<decltype(cblas_sgemv)>("cblas_sgemv")(order, trans, m, n, alpha, a, lda, x, incx,
                                                      beta, y, incy);
}
