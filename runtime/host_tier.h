// The host tiers' side of a call: BLAS, and around it what BLAS does not do.
#pragma once

#include "runtime/context.h"
#include "runtime/host_blas.h"

namespace rooftile {

/// Runs the products of a validated call. 16-bit operands are widened first, an epilogue is a pass
/// over C. kOutOfMemory when the copies for that do not fit.
void run_on_host(const HostBlas& blas, const SgemmCall& call, Tier tier);

}  // namespace rooftile
