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

/// Fortran routines of a library. The last arguments of gemm and gemv are the lengths of the
/// strings.
template <typename Real>
struct GemmRoutines {
  void (*gemm)(const char* trans_a, const char* trans_b, const int* m, const int* n, const int* k,
               const Real* alpha, const Real* a, const int* lda, const Real* b, const int* ldb,
               const Real* beta, Real* c, const int* ldc, std::size_t, std::size_t);
  void (*gemv)(const char* trans, const int* m, const int* n, const Real* alpha, const Real* a,
               const int* lda, const Real* x, const int* incx, const Real* beta, Real* y,
               const int* incy, std::size_t);
  bool small_kernels = false;  ///< has_small_kernels() of the library (host_library.h).
};

/// y := alpha * op(A) * x + beta * y, where op(A) is rows x k and k is at least 1.
template <typename Real>
struct ColumnMajorGemv {
  char trans;
  int rows, k;
  Real alpha;
  const Real* a;
  int lda;
  const Real* x;
  int incx;
  Real beta;
  Real* y;
  int incy;
};

/// OpenBLAS 0.3.21 computes with all threads from 9216 elements of A on (interface/gemv.c), which
/// takes more than a microsecond before it begins. With two threads it pays from some 200 x 200 on;
/// until then the product is computed in pieces, each on this thread, so that the drop-in's calls
/// beside the runtime have the same bits whatever the number of threads.
template <typename Real>
void multiply_by_vector(const GemmRoutines<Real>& blas, ColumnMajorGemv<Real> v) {
  constexpr double kOneThread = 9215, kWorthThreads = 50'000;
  const double elements = static_cast<double>(v.rows) * v.k;
  const bool along_k = v.k > v.rows, flat = v.trans == 'N';
  const int length = along_k ? v.k : v.rows;
  int step = length;
  // Whole vectors of a processor, except for the last piece.
  if (elements > kOneThread && elements < kWorthThreads)
    step = static_cast<int>(length * kOneThread / elements) & ~15;
  const std::ptrdiff_t step_a = along_k == flat ? v.lda : 1;
  for (int done = 0; done < length; done += step) {
    const int left = length - done, part = left < step ? left : step;
    const int rows = along_k ? v.rows : part, k = along_k ? part : v.k;
    blas.gemv(&v.trans, flat ? &rows : &k, flat ? &k : &rows, &v.alpha, v.a, &v.lda, v.x, &v.incx,
              &v.beta, v.y, &v.incy, 1);
    v.a += part * step_a;
    if (along_k) {
      v.x += static_cast<std::ptrdiff_t>(part) * v.incx;
      v.beta = 1;
    } else {
      v.y += static_cast<std::ptrdiff_t>(part) * v.incy;
    }
  }
}

/// The product of a row and a column, one of which is a column of a matrix here, because gemv sums
/// a column in several parts. As a row of one it is summed in one, of which a million elements
/// lose 3 %, and gemm's kernels for small matrices sum likewise (OpenBLAS 0.3.21).
template <typename Real>
void multiply_vectors(const GemmRoutines<Real>& blas, const ColumnMajorGemm<Real>& g) {
  const std::ptrdiff_t step_a = g.trans_a == 'N' ? g.lda : 1, step_b = g.trans_b == 'N' ? 1 : g.ldb;
  const auto add = [&](int k, const Real* column, const Real* x, std::ptrdiff_t step, Real beta) {
    multiply_by_vector<Real>(
        blas, {'T', 1, k, g.alpha, column, k, x, static_cast<int>(step), beta, g.c, 1});
  };
  if (step_a == 1) return add(g.k, g.a, g.b, step_b, g.beta);
  if (step_b == 1) return add(g.k, g.b, g.a, step_a, g.beta);
  Real column[1024];
  for (int done = 0, part; done < g.k; done += part) {
    part = g.k - done < 1024 ? g.k - done : 1024;
    for (int i = 0; i < part; ++i) column[i] = g.a[(done + i) * step_a];
    add(part, column, g.b + done * step_b, step_b, done == 0 ? g.beta : Real{1});
  }
}

/// Whether gemm is faster than gemv for this C of one row or column: where OpenBLAS 0.3.21 has fast
/// kernels for small matrices, they take 0.5 to 1.2 of gemv's time. It has none for two transposes,
/// for A alone transposed if k is below 32 or C is longer than 1200, and in single precision the
/// others are slow below k = 32 and for a column with B transposed.
template <typename Real>
bool is_small(const GemmRoutines<Real>& blas, const ColumnMajorGemm<Real>& g) {
  const bool is_column = g.n == 1, turned_a = g.trans_a == 'T', turned_b = g.trans_b == 'T';
  const int length = is_column ? g.m : g.n;
  if (!blas.small_kernels || g.k < 32 || length <= 8 || (turned_a && turned_b)) return false;
  if (turned_a && length > 1200) return false;
  if (sizeof(Real) == sizeof(float) && is_column && turned_b) return false;
  // gemv is slower where it computes dot products of the matrix's columns.
  const double most = (is_column ? turned_a : !turned_b) ? 50'000 : 16'000;
  return static_cast<double>(length) * g.k < most;
}

/// Computes legal arguments: a C of one row or column by the matrix-vector routine, unless it is
/// small. gemm copies the matrix into blocks first, which takes longer than the product (OpenBLAS
/// 0.3.21: three times as long in all).
///
/// On one thread the bits of a result depend on nothing but the arguments where float64 operands
/// begin at 16 bytes, as those of every allocation do: dgemv of OpenBLAS 0.3.21 for processors
/// without AVX2 sums in another order where they do not. sgemv does not ask.
template <typename Real>
void multiply(const GemmRoutines<Real>& blas, const ColumnMajorGemm<Real>& g) {
  // gemv leaves y as it is where k is 0, and OpenBLAS's takes a beta of NaN for 0. With alpha 0, C
  // is scaled without reading A and B.
  const bool sums = g.k > 0 && g.alpha != 0 && g.beta == g.beta;
  if (g.m == 1 && g.n == 1 && sums)
    multiply_vectors(blas, g);
  else if (g.n == 1 && sums && !is_small(blas, g))
    multiply_by_vector<Real>(blas, {g.trans_a, g.m, g.k, g.alpha, g.a, g.lda, g.b,
                                    g.trans_b == 'N' ? 1 : g.ldb, g.beta, g.c, 1});
  else if (g.m == 1 && sums && !is_small(blas, g))  // C^T = op(B)^T * op(A)^T.
    multiply_by_vector<Real>(blas, {g.trans_b == 'N' ? 'T' : 'N', g.n, g.k, g.alpha, g.b, g.ldb,
                                    g.a, g.trans_a == 'N' ? g.lda : 1, g.beta, g.c, g.ldc});
  else
    blas.gemm(&g.trans_a, &g.trans_b, &g.m, &g.n, &g.k, &g.alpha, g.a, &g.lda, g.b, &g.ldb, &g.beta,
              g.c, &g.ldc, 1, 1);
}

}  // namespace rooftile
