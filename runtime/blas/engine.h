// Access to Rooftile's runtime, which the first call that is large enough opens.
#pragma once

#include <rooftile/rooftile.h>

#include "runtime/blas/routines.h"

namespace rooftile::blas {

/// Compute a call with arguments that BLAS allows. They never fail: calls that the runtime does not
/// compute go to the underlying BLAS. Thread-safe, also in children forked at any time.
template <typename Real>
void run(const Gemm<Real>& gemm);
template <typename Real>
void run(const GemmBatch<Real>& batch);

/// Whether $ROOFTILE_PRECISION keeps a float32 routine other than sgemm on the host, in float64.
/// Reports this once if $ROOFTILE_TIER is device.
bool keeps_on_host();

/// Whether run() is predicted to run the call on the device.
template <typename Real>
bool runs_on_device(const Gemm<Real>& gemm);

/// Calls with fewer flops neither query nor open the runtime: one core computes them in less time
/// than a submission takes, which is ten microseconds or more on any machine. On two Xeon cores
/// with lavapipe (2026-11-22) OpenBLAS does 2.2e5 operations in 8.1 us, and a submission takes 51
/// us. Querying the runtime for every call would make calls of 8x8x8 (164 ns) 23 % slower instead
/// of 5 %.
inline constexpr double kLeastFlops = 1e5;
template <typename Real>
double flops(const Gemm<Real>& g) {
  return 2.0 * g.m * g.n * g.k;
}

}  // namespace rooftile::blas
