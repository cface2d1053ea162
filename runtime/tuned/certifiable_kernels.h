// Which kernels may be certified for a problem whose class (types, transposes, epilogue) is not
// tuned here.
#pragma once

#include <span>
#include <vector>

#include "core/device_profile.h"
#include "runtime/tuned/kernel_ranking.h"

namespace rooftile {

struct CertifiableKernel {
  Variant variant;
  double expected_ns;     ///< Expected time of a call, packing included.
  bool imported = false;  ///< Measured by another machine: its failures count for themselves.
};

/// Adds those that are not there yet.
void append(std::vector<CertifiableKernel>& kernels, std::span<const CertifiableKernel> more);

/// Returns the kernels for a problem, best first, each once and legal at this place with these
/// limits. `measured` ranks kernels that were measured on such a device, here or elsewhere. What
/// was measured with the same operands tells more than a table, and a table of these operands
/// (generator/priors/default_kernel.h) more than what was measured with others. Times are scaled
/// from those of the nearest measured class; where nothing legal was measured they are the model's,
/// or a guess on a device that is not calibrated.
std::vector<CertifiableKernel> certifiable_kernels(const DeviceProfile& device,
                                                   const KernelRanking& measured, const Problem& p,
                                                   const Placement& at, const DeviceLimits& limits);

}  // namespace rooftile
