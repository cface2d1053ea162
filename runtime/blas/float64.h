// The routines that Rooftile takes over, with float64 sums: for $ROOFTILE_PRECISION exact64 and
// high (docs/precision.md).
#pragma once

#include "runtime/blas/engine.h"
#include "runtime/blas/recast.h"

namespace rooftile::blas {

/// y := alpha * op(A) * x + beta * y, A m x n column-major. Increments are not 0; a negative one
/// runs through its vector from the end, as in BLAS.
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

/// Whether $ROOFTILE_PRECISION is exact64 or high, or $ROOFTILE_TIER host64, as they were when this
/// was first asked.
bool sums_in_float64();

/// Says once in a process that a routine does not sum in float64, and why. Returns false, as the
/// functions below do then.
bool say_float32(const char* routine, const char* why);

/// Operands are widened to float64, the real library's float64 routine computes, and each result is
/// rounded to float32 once. Nothing is read or written but what BLAS reads and writes. False, and
/// nothing is touched: there is no memory for the copies, or the library lacks the routine; that is
/// said once on stderr, and the caller computes in float32. Thread-safe.
bool gemm_in_float64(const Gemm& g);
bool gemv_in_float64(const Gemv& v);
bool syrk_in_float64(const Syrk& s);
bool symm_in_float64(const Symm& s);
bool trmm_in_float64(const Triangular& t);
bool trsm_in_float64(const Triangular& t);

}  // namespace rooftile::blas
