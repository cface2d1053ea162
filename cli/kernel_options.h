// Options that name a kernel by its parameters, and the rules that it must satisfy.
#pragma once

#include <CLI/CLI.hpp>
#include <map>
#include <string>

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

/// Legality for the problem where its sizes are given, else for its types, transposes and epilogue.
Legality legality_for(const DeviceLimits& limits, const ProblemOptions& sizes);

}  // namespace rooftile
