// Which kernels may be certified for a problem whose class (types, transposes, epilogue) is not
// tuned.
#pragma once

#include <vector>

#include "core/device_profile.h"
#include "runtime/tuned/kernel_ranking.h"

namespace rooftile {

struct CertifiableKernel {
  Variant variant;
  double expected_ns;  ///< Expected time of a call, packing included.
};

/// Returns the kernels for a problem whose class is not tuned, best first, each legal at this place
/// with these limits. What was measured with the same operands tells more than a table, and a table
/// of these operands (generator/priors/default_kernel.h) more than what was measured with others.
/// Times are scaled from those of the nearest tuned class; where nothing legal is tuned they are
/// the model's, or a guess on a device that is not calibrated.
std::vector<CertifiableKernel> certifiable_kernels(const DeviceProfile& device,
                                                   const KernelRanking& tuned, const Problem& p,
                                                   const Placement& at, const DeviceLimits& limits);

}  // namespace rooftile
