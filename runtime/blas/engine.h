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

/// Whether run() would give the product to the device, as far as predictions go.
bool runs_on_device(const Gemm& gemm);

/// Below this no product can be worth the device: 1e5 operations take a core of any processor that
/// has a Vulkan driver less than the ten microseconds or more of a submission and its end.
inline constexpr double kLeastFlops = 1e5;
inline double flops(const Gemm& g) { return 2.0 * g.m * g.n * g.k; }

}  // namespace rooftile::blas
