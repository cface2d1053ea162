// One product by the routines of a BLAS. Shared by the runtime and the drop-in (runtime/blas),
// which is built without the C++ library.
#pragma once

#include <cstddef>

namespace rooftile {

/// C := alpha * op(A) * op(B) + beta * C, column-major. trans: 'N' or 'T'.
template <typename Real>
struct ColumnMajorGemm {
  char trans_a, trans_b;
  int m, n, k;
  Real alpha;
  const Real* a;
  int lda;
  const Real* b;
  int ldb;
  Real beta;
  Real* c;
  int ldc;
};

/// Fortran routines of a library. The last arguments are the lengths of the strings.
template <typename Real>
struct GemmRoutines {
  void (*gemm)(const char* trans_a, const char* trans_b, const int* m, const int* n, const int* k,
               const Real* alpha, const Real* a, const int* lda, const Real* b, const int* ldb,
               const Real* beta, Real* c, const int* ldc, std::size_t, std::size_t);
  void (*gemv)(const char* trans, const int* m, const int* n, const Real* alpha, const Real* a,
               const int* lda, const Real* x, const int* incx, const Real* beta, Real* y,
               const int* incy, std::size_t);
};

/// Computes legal arguments: a C of one row or column by the matrix-vector routine. gemm copies the
/// matrix into blocks first, which takes longer than the product (OpenBLAS 0.3.21: three times as
/// long in all).
///
/// On one thread the bits of a result depend on nothing but the arguments where float64 operands
/// begin at 16 bytes, as those of every allocation do: dgemv of OpenBLAS 0.3.21 for processors
/// without AVX2 sums in another order where they do not. sgemv does not ask.
template <typename Real>
void multiply(const GemmRoutines<Real>& blas, const ColumnMajorGemm<Real>& g) {
  const auto vector_of = [&](char trans, int rows, const Real* matrix, int ld, const Real* x,
                             int incx, int incy) {
    const bool flat = trans == 'N';
    blas.gemv(&trans, flat ? &rows : &g.k, flat ? &g.k : &rows, &g.alpha, matrix, &ld, x, &incx,
              &g.beta, g.c, &incy, 1);
  };
  // gemv leaves y as it is where k is 0. With alpha 0, C is scaled without reading A and B.
  const bool reads = g.k > 0 && g.alpha != 0;
  if (g.n == 1 && reads)
    vector_of(g.trans_a, g.m, g.a, g.lda, g.b, g.trans_b == 'N' ? 1 : g.ldb, 1);
  else if (g.m == 1 && reads)  // C^T = op(B)^T * op(A)^T.
    vector_of(g.trans_b == 'N' ? 'T' : 'N', g.n, g.b, g.ldb, g.a, g.trans_a == 'N' ? g.lda : 1,
              g.ldc);
  else
    blas.gemm(&g.trans_a, &g.trans_b, &g.m, &g.n, &g.k, &g.alpha, g.a, &g.lda, g.b, &g.ldb, &g.beta,
              g.c, &g.ldc, 1, 1);
}

}  // namespace rooftile
