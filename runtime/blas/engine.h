// The products that Rooftile computes: its runtime, opened by the first call that is worth it.
#pragma once

#include <rooftile/rooftile.h>

#include "runtime/blas/real_blas.h"

namespace rooftile::blas {

/// C := alpha * op(A) * op(B) + beta * C, column-major. trans: 'N' or 'T'.
struct Gemm {
  char trans_a, trans_b;
  Int m, n, k;
  float alpha;
  const float* a;
  Int lda;
  const float* b;
  Int ldb;
  float beta;
  float* c;
  Int ldc;
};

/// Products of one shape, matrices behind arrays or a stride apart (elements).
struct GemmBatch {
  Gemm gemm;
  Int batch;
  const float* const* a_array;  // null: gemm.a and the strides
  const float* const* b_array;
  float* const* c_array;
  std::ptrdiff_t stride_a, stride_b, stride_c;
};

/// Arguments as BLAS allows them; never fails: what the runtime does not compute, the BLAS
/// underneath does. Thread-safe, and so in children forked at any time.
void run(const Gemm& gemm);
void run(const GemmBatch& batch);

/// What $ROOFTILE_PRECISION asks for, as it was when this was first asked; kFloat64 also for
/// $ROOFTILE_TIER host64. kUnknown: a precision that the runtime refuses.
enum class WantedPrecision { kStandard, kFloat64, kUnknown };
WantedPrecision wanted_precision();

/// Whether $ROOFTILE_PRECISION keeps a routine other than sgemm on the host, in float64. Says once
/// that it does where $ROOFTILE_TIER is device.
bool keeps_on_host();

/// Whether run() would give the product to the device, as far as predictions go.
bool runs_on_device(const Gemm& gemm);

/// Below this nobody asks the runtime, nor opens it: a core takes less time than a submission and
/// its end, which are ten microseconds or more anywhere. On two Xeon cores with lavapipe
/// (2026-11-22) OpenBLAS does 2.2e5 operations in 8.1 us, and a submission takes 51 us; asking
/// about every product would make those of 8x8x8 (164 ns) 23 % slower instead of 5 %.
inline constexpr double kLeastFlops = 1e5;
inline double flops(const Gemm& g) { return 2.0 * g.m * g.n * g.k; }

}  // namespace rooftile::blas
