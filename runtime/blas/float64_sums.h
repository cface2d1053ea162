// Float64 sums of the float32 routines that Rooftile takes over, for $ROOFTILE_PRECISION exact64
// and high (docs/precision.md).
#pragma once

#include "runtime/blas/routines.h"

namespace rooftile::blas {

/// Reports once per process that a routine does not sum in float64, and why. Returns false, which
/// the functions below pass on.
bool say_float32(const char* routine, const char* why);

/// Compute a routine in float64 (sgemm only where the runtime does not): operands are widened, the
/// real library's float64 routine computes, and each result is rounded to float32 once. They read
/// and write only what BLAS reads and writes. They return false and touch nothing if there is no
/// memory for the copies. This is reported once on stderr, and the caller computes in float32.
/// Thread-safe.
bool gemm_in_float64(const Gemm<float>& g);
bool gemv_in_float64(const Gemv& v);
bool syrk_in_float64(const Syrk<float>& s);
bool symm_in_float64(const Symm<float>& s);
bool trmm_in_float64(const Triangular<float>& t);
bool trsm_in_float64(const Triangular<float>& t);

}  // namespace rooftile::blas
