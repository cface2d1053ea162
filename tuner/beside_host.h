// The winner of a problem beside the host's BLAS.
#pragma once

#include "tuner/host_comparison.h"
#include "tuner/problem_tuner_context.h"

namespace rooftile {

/// Times both in turns for up to `seconds`. There is no comparison where the host is predicted to
/// take longer than there is time for: a call of BLAS cannot be stopped.
HostComparison beside_host(const ProblemTunerContext& context, const Problem& problem,
                           const Variant& winner, double seconds);

}  // namespace rooftile
