// What the BLAS of this machine takes for a problem.
#pragma once

#include "core/problem.h"

namespace rooftile {

/// Median time in ns of a call of OpenBLAS with all threads, operands warm, after one untimed call.
/// Stops after share_s or 15 calls, whichever comes first, but not before the first timed one.
/// Calls that another program disturbed (busy_share) do not count.
double measure_host_ns(const Problem& p, double share_s);

}  // namespace rooftile
