// The kernel of a problem before anything is measured on its device. Every part of Rooftile that
// needs one asks here: calls, the tuner and the command line.
#pragma once

#include <vector>

#include "core/device_profile.h"
#include "core/problem.h"
#include "core/variant.h"
#include "generator/priors/priors.h"
#include "generator/rules.h"

namespace rooftile {

/// Returns the kernels to use for this problem with its operands at this place, each once and best
/// first, with the reason for each. They are legal with these limits, which may be less than the
/// device's. First come the lines of the device's tables (priors.h), before all others the one that
/// fills the device best, on GPUs perhaps with k in parts (README.md); then the defaults of the
/// families for this kind of problem, which is what devices without a table get; last the kernel
/// that is legal almost everywhere (fallback_variant). A grouped problem is of the kind of its
/// equal batch. Empty: nothing is legal.
std::vector<Prior> default_kernels(const DeviceProfile& device, const DeviceLimits& limits,
                                   const Problem& p, const Placement& placement);

/// Returns the first of default_kernels() where each operand has a buffer of its own, and
/// fallback_variant() where there is none.
Variant default_kernel(const DeviceProfile& device, const Problem& p);

/// Returns the first candidates of a search without any history: the default kernel, then the
/// priors.
std::vector<Variant> first_starts(const DeviceProfile& device, const Problem& p);

}  // namespace rooftile
