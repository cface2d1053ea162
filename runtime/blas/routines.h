// Arguments of the BLAS routines that Rooftile takes over, as structures. All matrices are
// column-major.
#pragma once

#include <cstddef>

#include "runtime/blas/real_blas.h"
#include "runtime/host/host_gemm.h"

namespace rooftile::blas {

using Gemm = ColumnMajorGemm<float>;

/// GEMMs of one shape, with matrices behind arrays of pointers or a stride apart (in elements).
struct GemmBatch {
  Gemm gemm;
  Int batch;
  const float* const* a_array;  ///< Null: gemm.a and the strides apply.
  const float* const* b_array;
  float* const* c_array;
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
struct Syrk {
  char uplo, trans;
  Int n, k;
  float alpha;
  const float* a;
  Int lda;
  float beta;
  float* c;
  Int ldc;
};

/// C := alpha * A * B + beta * C (side 'L') or alpha * B * A + beta * C, column-major, C m x n.
/// Only the triangle `uplo` of the symmetric A is stored.
struct Symm {
  char side, uplo;
  Int m, n;
  float alpha;
  const float* a;
  Int lda;
  const float* b;
  Int ldb;
  float beta;
  float* c;
  Int ldc;
};

/// B := alpha * op(A)^(+-1) * B (side 'L') or alpha * B * op(A)^(+-1), column-major, B m x n. A is
/// triangular, with ones on its diagonal if diag is 'U'.
struct Triangular {
  char side, uplo, trans, diag;
  Int m, n;
  float alpha;
  const float* a;
  Int lda;
  float* b;
  Int ldb;
};

}  // namespace rooftile::blas
