// Execution of a call on a host tier: BLAS, and the conversions and epilogue that BLAS lacks.
#pragma once

#include "runtime/call/call.h"
#include "runtime/host/host_blas.h"

namespace rooftile {

/// Computes a validated call.
/// - Tiers host and host1 widen operands that are not float32 to float32, multiply 8-bit integers
///   exactly (host_integers.h), and make a pass over C for an epilogue.
/// - Float64 operands, which have no epilogue, are multiplied by BLAS where they are, on every
/// tier.
/// - Tier host64 does all of it in float64 (host_float64.h) unless C is int32.
///
/// most == kOne limits every tier to one thread, as host1. Throws kOutOfMemory when the copies do
/// not fit into memory.
void run_on_host(const HostBlas& blas, const GemmCall& call, Tier tier,
                 HostThreads most = HostThreads::kAll);

}  // namespace rooftile
