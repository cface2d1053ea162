// ssyrk_, ssymm_, strmm_, strsm_ and their CBLAS versions. Illegal calls, and calls that read no
// matrix, are passed unchanged to the underlying BLAS.
#include "runtime/blas/arguments.h"
#include "runtime/blas/recast.h"

using namespace rooftile::blas;

namespace {

bool is_legal(const Syrk& s) {
  return is_uplo(s.uplo) && is_trans(s.trans) && s.n >= 0 && s.k >= 0 &&
         is_ld(s.lda, s.trans == 'N' ? s.n : s.k) && is_ld(s.ldc, s.n);
}

bool is_legal(const Symm& s) {
  return is_side(s.side) && is_uplo(s.uplo) && s.m >= 0 && s.n >= 0 &&
         is_ld(s.lda, s.side == 'L' ? s.m : s.n) && is_ld(s.ldb, s.m) && is_ld(s.ldc, s.m);
}

bool is_legal(const Triangular& t) {
  return is_side(t.side) && is_uplo(t.uplo) && is_trans(t.trans) && is_diag(t.diag) && t.m >= 0 &&
         t.n >= 0 && is_ld(t.lda, t.side == 'L' ? t.m : t.n) && is_ld(t.ldb, t.m);
}

template <typename Call>
bool takes_over(const Call& call) {
  return is_legal(call) && call.alpha != 0.0f;
}

/// C = C^T: the result is in the other triangle, with op(A) stored transposed.
Syrk column_major(int order, Syrk s) {
  if (order != kRowMajor) return s;
  s.uplo = flipped(s.uplo);
  s.trans = flipped(s.trans);
  return s;
}

/// C^T = B^T A. The same holds for triangular matrices, whose op stays.
template <typename Sided>
Sided column_major(int order, Sided s) {
  if (order != kRowMajor) return s;
  s.side = other_side(s.side);
  s.uplo = flipped(s.uplo);
  std::swap(s.m, s.n);
  return s;
}

Triangular triangular(int order, int side, int uplo, int trans, int diag, Int m, Int n, float alpha,
                      const float* a, Int lda, float* b, Int ldb) {
  return column_major(order, Triangular{side_letter(side), uplo_letter(uplo), trans_letter(trans),
                                        diag_letter(diag), m, n, alpha, a, lda, b, ldb});
}

Triangular triangular(const char* side, const char* uplo, const char* trans, const char* diag,
                      const Int* m, const Int* n, const float* alpha, const float* a,
                      const Int* lda, float* b, const Int* ldb) {
  return {upper(side), upper(uplo), trans_letter(trans), upper(diag), *m, *n, *alpha, a, *lda,
          b,           *ldb};
}

}  // namespace

ROOFTILE_BLAS_API void ssyrk_(const char* uplo, const char* trans, const Int* n, const Int* k,
                              const float* alpha, const float* a, const Int* lda, const float* beta,
                              float* c, const Int* ldc) {
  const Syrk s = {upper(uplo), trans_letter(trans), *n, *k, *alpha, a, *lda, *beta, c, *ldc};
  if (takes_over(s)) return run_syrk(s);
  real_blas().ssyrk(uplo, trans, n, k, alpha, a, lda, beta, c, ldc, 1, 1);
}

ROOFTILE_BLAS_API void cblas_ssyrk(int order, int uplo, int trans, Int n, Int k, float alpha,
                                   const float* a, Int lda, float beta, float* c, Int ldc) {
  const Syrk s = column_major(
      order, Syrk{uplo_letter(uplo), trans_letter(trans), n, k, alpha, a, lda, beta, c, ldc});
  if (is_order(order) && takes_over(s)) return run_syrk(s);
  real_function<decltype(cblas_ssyrk)>("cblas_ssyrk")(order, uplo, trans, n, k, alpha, a, lda, beta,
                                                      c, ldc);
}

ROOFTILE_BLAS_API void ssymm_(const char* side, const char* uplo, const Int* m, const Int* n,
                              const float* alpha, const float* a, const Int* lda, const float* b,
                              const Int* ldb, const float* beta, float* c, const Int* ldc) {
  const Symm s = {upper(side), upper(uplo), *m, *n, *alpha, a, *lda, b, *ldb, *beta, c, *ldc};
  if (takes_over(s)) return run_symm(s);
  real_blas().ssymm(side, uplo, m, n, alpha, a, lda, b, ldb, beta, c, ldc, 1, 1);
}

ROOFTILE_BLAS_API void cblas_ssymm(int order, int side, int uplo, Int m, Int n, float alpha,
                                   const float* a, Int lda, const float* b, Int ldb, float beta,
                                   float* c, Int ldc) {
  const Symm s = column_major(
      order, Symm{side_letter(side), uplo_letter(uplo), m, n, alpha, a, lda, b, ldb, beta, c, ldc});
  if (is_order(order) && takes_over(s)) return run_symm(s);
  real_function<decltype(cblas_ssymm)>("cblas_ssymm")(order, side, uplo, m, n, alpha, a, lda, b,
                                                      ldb, beta, c, ldc);
}

ROOFTILE_BLAS_API void strmm_(const char* side, const char* uplo, const char* trans,
                              const char* diag, const Int* m, const Int* n, const float* alpha,
                              const float* a, const Int* lda, float* b, const Int* ldb) {
  const Triangular t = triangular(side, uplo, trans, diag, m, n, alpha, a, lda, b, ldb);
  if (takes_over(t)) return run_trmm(t);
  real_blas().strmm(side, uplo, trans, diag, m, n, alpha, a, lda, b, ldb, 1, 1, 1, 1);
}

ROOFTILE_BLAS_API void cblas_strmm(int order, int side, int uplo, int trans, int diag, Int m, Int n,
                                   float alpha, const float* a, Int lda, float* b, Int ldb) {
  const Triangular t = triangular(order, side, uplo, trans, diag, m, n, alpha, a, lda, b, ldb);
  if (is_order(order) && takes_over(t)) return run_trmm(t);
  real_function<decltype(cblas_strmm)>("cblas_strmm")(order, side, uplo, trans, diag, m, n, alpha,
                                                      a, lda, b, ldb);
}

ROOFTILE_BLAS_API void strsm_(const char* side, const char* uplo, const char* trans,
                              const char* diag, const Int* m, const Int* n, const float* alpha,
                              const float* a, const Int* lda, float* b, const Int* ldb) {
  const Triangular t = triangular(side, uplo, trans, diag, m, n, alpha, a, lda, b, ldb);
  if (takes_over(t)) return run_trsm(t);
  real_blas().strsm(side, uplo, trans, diag, m, n, alpha, a, lda, b, ldb, 1, 1, 1, 1);
}

ROOFTILE_BLAS_API void cblas_strsm(int order, int side, int uplo, int trans, int diag, Int m, Int n,
                                   float alpha, const float* a, Int lda, float* b, Int ldb) {
  const Triangular t = triangular(order, side, uplo, trans, diag, m, n, alpha, a, lda, b, ldb);
  if (is_order(order) && takes_over(t)) return run_trsm(t);
  real_function<decltype(cblas_strsm)>("cblas_strsm")(order, side, uplo, trans, diag, m, n, alpha,
                                                      a, lda, b, ldb);
}
