// The kernels that `rooftile inspect` compiles: one, those of a list, or those of the tuner's
// tables.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "cli/kernel_options.h"
#include "core/device_profile.h"
#include "generator/signature.h"

namespace rooftile {

struct KernelToInspect {
  Variant variant;
  Signature signature;
  std::string origin = {};                  // why it is in the list
  std::optional<std::string> illegal = {};  // why it cannot be used here, if it cannot
};

/// The kernel that `rooftile emit` prints for these options, or the reason for which it prints
/// none. Errors as with emit.
KernelToInspect one_kernel(const DeviceProfile& device, const ProblemOptions& problem,
                           const ParameterSettings& settings);
/// The kernels of the search space that have these settings and are legal; at most `most`.
std::vector<KernelToInspect> kernels_of_space(const DeviceProfile& device,
                                              const ProblemOptions& problem,
                                              const ParameterSettings& settings, std::size_t most);
/// The best kernels for a problem: those that were tuned on this device, else those that the model
/// predicts to be fastest if the device is calibrated, else those that the tuner tries first.
std::vector<KernelToInspect> ranked_kernels(const DeviceProfile& device, const Globals& globals,
                                            const Problem& problem, std::size_t most);
/// The kernels of all tables of priors for this device that are legal with these types, or with
/// every type if `types` is empty, each once for a type.
std::vector<KernelToInspect> prior_kernels(const DeviceProfile& device,
                                           const ProblemOptions& problem, const std::string& types);
/// For each family the kernel that is taken where no parameters are given.
std::vector<KernelToInspect> family_default_kernels(const DeviceProfile& device,
                                                    const ProblemOptions& problem,
                                                    const std::string& types);
/// The kernels of the portfolios that this device has in the database, its own and those of other
/// machines, or only those with these types. Where it has none: those with which the tuner begins
/// one on a device like this without any history.
std::vector<KernelToInspect> portfolio_kernels(const DeviceProfile& device, const Globals& globals,
                                               const ProblemOptions& problem,
                                               const std::string& types);
/// The kernel of the database whose hash begins with this text. Throws kUnsupported where there is
/// not exactly one.
KernelToInspect stored_kernel(const Globals& globals, const std::string& hash);

}  // namespace rooftile
