// The host tiers' side of a call: BLAS, and around it what BLAS does not do.
#pragma once

#include "runtime/context.h"
#include "runtime/host_blas.h"

namespace rooftile {

/// Runs the products of a validated call. Operands that are not float32 are widened first, 8-bit
/// integers multiplied exactly (host_integers.h), an epilogue is a pass
/// over C. kOutOfMemory when the copies for that do not fit. most: kOne holds every tier to one
/// thread, as host1.
void run_on_host(const HostBlas& blas, const GemmCall& call, Tier tier,
                 HostThreads most = HostThreads::kAll);

}  // namespace rooftile
