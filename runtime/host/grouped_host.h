// A grouped GEMM on a host tier: one single GEMM for each group.
#pragma once

#include "runtime/call/grouped_call.h"
#include "runtime/host/host_tier.h"

namespace rooftile {

/// Computes a validated call, each group as run_on_host() does. Groups are computed on one thread
/// each, the largest first, as many at a time as BLAS has threads; a group with more than its share
/// of the work is divided by BLAS. Where all work is little the calling thread does it. most ==
/// kOne uses one thread in all. Throws kOutOfMemory, after which some groups may be computed.
void run_grouped_on_host(const HostBlas& blas, const GroupedCall& call, Tier tier,
                         HostThreads most = HostThreads::kAll);

}  // namespace rooftile
