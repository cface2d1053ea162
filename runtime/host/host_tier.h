// Execution of a call on a host tier: BLAS, and the conversions and epilogue that BLAS lacks.
#pragma once

#include "runtime/call/call.h"
#include "runtime/host/host_blas.h"

namespace rooftile {

/// Computes a validated call.
/// - Tiers host and host1 widen operands that are not float32 to float32, multiply 8-bit integers
///   exactly (host_integers.h), and make a pass over C for an epilogue.
/// - Tier host64 does all of it in float64 unless C is int32: operands of every type are widened
///   exactly (a quantised B: to within one float64 rounding of each of its two operations), and the
///   result is rounded once, to C's type.
/// - Float64 operands are multiplied in float64 on every tier.
///
/// C is untouched where an operand's copy does not fit into memory, but for a batch of 8-bit
/// integers.
/// most == kOne limits every tier to one thread, as host1. Throws kOutOfMemory when the copies do
/// not fit into memory.
void run_on_host(const HostBlas& blas, const GemmCall& call, Tier tier,
                 HostThreads most = HostThreads::kAll);

}  // namespace rooftile
