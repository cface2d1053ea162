// The host tiers' side of a call: BLAS, and around it what BLAS does not do.
#pragma once

#include "runtime/context.h"
#include "runtime/host_blas.h"

namespace rooftile {

/// Computes a validated call. Tiers host and host1 widen operands that are not float32 to float32,
/// multiply 8-bit integers exactly (host_integers.h), and make a pass over C for an epilogue; tier
/// host64 does all of it in float64 (host_float64.h) unless C is int32. Throws kOutOfMemory when
/// the copies for that do not fit. most: kOne holds every tier to one thread, as host1.
void run_on_host(const HostBlas& blas, const GemmCall& call, Tier tier,
                 HostThreads most = HostThreads::kAll);

}  // namespace rooftile
