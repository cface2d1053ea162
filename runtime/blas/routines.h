// Arguments of the BLAS routines that Rooftile takes over, as structures. All matrices are
// column-major. Real is float or double.
#pragma once

#include <cstddef>

#include "runtime/blas/real_blas.h"
#include "runtime/host/host_gemm.h"

namespace rooftile::blas {

template <typename Real>
using Gemm = ColumnMajorGemm<Real>;

/// GEMMs of one shape, with matrices behind arrays of pointers or a stride apart (in elements).
template <typename Real>
struct GemmBatch {
  Gemm<Real> gemm;
  Int batch;
  const Real* const* a_array;  ///< Null: gemm.a and the strides apply.
  const Real* const* b_array;
  Real* const* c_array;
  std::ptrdiff_t stride_a, stride_b, stride_c;
};

/// y := alpha * op(A) * x + beta * y, A m x n column-major. Increments are not 0; a negative one
/// traverses its vector from the end, as in BLAS.
struct Gemv {
  char trans;
  Int m, n;
  float alpha;
  const float* a;
  Int lda;
  const float* x;
  Int incx;
  float beta;
  float* y;
  Int incy;
};

/// C := alpha * op(A) * op(A)^T + beta * C, column-major, for the triangle `uplo` of C. C is n x n,
/// op(A) is n x k.
template <typename Real>
struct Syrk {
  char uplo, trans;
  Int n, k;
  Real alpha;
  const Real* a;
  Int lda;
  Real beta;
  Real* c;
  Int ldc;
};

/// C := alpha * A * B + beta * C (side 'L') or alpha * B * A + beta * C, column-major, C m x n.
/// Only the triangle `uplo` of the symmetric A is stored.
template <typename Real>
struct Symm {
  char side, uplo;
  Int m, n;
  Real alpha;
  const Real* a;
  Int lda;
  const Real* b;
  Int ldb;
  Real beta;
  Real* c;
  Int ldc;
};

/// B := alpha * op(A)^(+-1) * B (side 'L') or alpha * B * op(A)^(+-1), column-major, B m x n. A is
/// triangular, with ones on its diagonal if diag is 'U'.
template <typename Real>
struct Triangular {
  char side, uplo, trans, diag;
  Int m, n;
  Real alpha;
  const Real* a;
  Int lda;
  Real* b;
  Int ldb;
};

}  // namespace rooftile::blas
