// sgemm_ and cblas_sgemm.
#include "runtime/blas/arguments.h"

using namespace rooftile::blas;

ROOFTILE_BLAS_API void sgemm_(const char* trans_a, const char* trans_b, const Int* m, const Int* n,
                              const Int* k, const float* alpha, const float* a, const Int* lda,
                              const float* b, const Int* ldb, const float* beta, float* c,
                              const Int* ldc) {
  const Gemm g = {trans_letter(trans_a),
                  trans_letter(trans_b),
                  *m,
                  *n,
                  *k,
                  *alpha,
                  a,
                  *lda,
                  b,
                  *ldb,
                  *beta,
                  c,
                  *ldc};
  if (is_legal(g)) return run(g);
  real_blas().sgemm(trans_a, trans_b, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc, 1, 1);
}

ROOFTILE_BLAS_API void cblas_sgemm(int order, int trans_a, int trans_b, Int m, Int n, Int k,
                                   float alpha, const float* a, Int lda, const float* b, Int ldb,
                                   float beta, float* c, Int ldc) {
  const Gemm g = column_major(order, {trans_letter(trans_a), trans_letter(trans_b), m, n, k, alpha,
                                      a, lda, b, ldb, beta, c, ldc});
  if (is_order(order) && is_legal(g)) return run(g);
  real_function<decltype(cblas_sgemm)>("cblas_sgemm")(order, trans_a, trans_b, m, n, k, alpha, a,
                                                      lda, b, ldb, beta, c, ldc);
}
