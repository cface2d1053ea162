// Level 3 routines of symmetric and triangular matrices, made of general products where those run
// on the device, and left to the BLAS underneath where they do not.
#pragma once

#include "runtime/blas/real_blas.h"

namespace rooftile::blas {

/// The triangle uplo of C := alpha * op(A) * op(A)^T + beta * C, column-major. C n x n, op(A) n x
/// k.
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

/// C := alpha * A * B + beta * C (side 'L') or alpha * B * A + beta * C, column-major, C m x n; of
/// the symmetric A the triangle uplo is there.
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

/// B := alpha * op(A)^(+-1) * B (side 'L') or alpha * B * op(A)^(+-1), column-major, B m x n; A
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

/// Arguments as BLAS allows them. Never fail, thread-safe. Nothing is read but what BLAS reads.
void run_syrk(const Syrk& s);
void run_symm(const Symm& s);
void run_trmm(const Triangular& t);
void run_trsm(const Triangular& t);

}  // namespace rooftile::blas
