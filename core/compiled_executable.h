// Statistics and texts that a driver reports for the executables of a compiled pipeline
// (VK_KHR_pipeline_executable_properties).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/compiler_facts.h"

namespace rooftile {

/// A text that the driver's compiler made of the pipeline, such as its assembly. It is untrusted.
struct CompilerText {
  std::string name, description, text;

  bool operator==(const CompilerText&) const = default;
};

/// One executable of a pipeline. Some drivers compile a compute shader for several subgroup sizes.
struct CompiledExecutable {
  std::string name, description;
  std::uint32_t subgroup_size = 0;  // 0: the driver does not tell it
  std::vector<CompilerStatistic> statistics;
  std::vector<CompilerText> texts;  // empty unless the device was opened for them

  bool operator==(const CompiledExecutable&) const = default;
};

/// The statistics of all executables.
inline std::vector<CompilerStatistic> all_statistics(
    const std::vector<CompiledExecutable>& executables) {
  std::vector<CompilerStatistic> all;
  for (const CompiledExecutable& executable : executables)
    all.insert(all.end(), executable.statistics.begin(), executable.statistics.end());
  return all;
}

}  // namespace rooftile
