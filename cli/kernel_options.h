// Options that name a kernel by its parameters, and the rules that it must satisfy.
#pragma once

#include <CLI/CLI.hpp>
#include <limits>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "cli/command.h"
#include "core/variant.h"
#include "generator/family_defaults.h"

namespace rooftile {

struct KernelOptions {
  std::string variant;                        // --variant
  std::map<std::string, std::string> values;  // parameters that are given as single options

  void add_to(CLI::App& command);
  /// Parameters of --variant, replaced by those that are given as single options.
  ParameterSettings settings() const;
};

/// The kernel with these settings: of their family, or else the one that an untuned device gets for
/// the problem (generator/priors/default_kernel.h; a large one where no sizes are given). `reason`
/// says why none with these settings is legal. Throws kInvalidArgument for unknown names and
/// values.
CompletedVariant chosen_kernel(const DeviceProfile& device, const ProblemOptions& problem,
                               const ParameterSettings& settings);

/// The kernels with these settings among which a search for the problem chooses, in the order of
/// the search space; at most `most`. Throws kInvalidArgument for unknown names and values, and
/// kUnsupported where there is no such kernel.
std::vector<Variant> kernels_with(const ParameterSettings& settings, const DeviceProfile& device,
                                  const ProblemOptions& problem,
                                  std::size_t most = std::numeric_limits<std::size_t>::max());

}  // namespace rooftile
