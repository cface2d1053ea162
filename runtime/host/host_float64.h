// Calls whose sums are float64: tier HOST64.
#pragma once

#include "runtime/call/call.h"
#include "runtime/host/host_blas.h"

namespace rooftile {

/// Runs a validated call whose C is of a floating-point type. Operands of every type are widened to
/// float64 exactly (a quantised B: to within one float64 rounding of each of its two operations),
/// BLAS sums them in float64, alpha, beta and the epilogue are applied in float64, and the result
/// is rounded once, to C's type. Throws std::bad_alloc when the float64 copies of A, B and C do not
/// fit into memory; C is then untouched.
void run_in_float64(const HostBlas& blas, const GemmCall& call, HostThreads threads);

}  // namespace rooftile
