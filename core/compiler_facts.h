// What a driver's compiler says of a kernel: registers, spills, occupancy, memory. Every driver has
// its own words for them; here they become one set of figures.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <variant>
#include <vector>

namespace rooftile {

/// One statistic as the driver reports it (VK_KHR_pipeline_executable_properties). Text of drivers
/// is untrusted.
struct CompilerStatistic {
  std::string executable;  // the part of the pipeline that it is about
  std::string name, description;
  std::variant<bool, std::int64_t, std::uint64_t, double> value;

  bool operator==(const CompilerStatistic&) const = default;
};

/// Empty where the driver does not say. Of several executables the largest counts.
struct CompilerFacts {
  // An invocation holds; AMD: vector registers. In the driver's unit: 32 bits, but 16 on Apple's
  // and 128 on Qualcomm's devices.
  std::optional<std::int64_t> registers;
  std::optional<std::int64_t> scalar_registers;  // AMD: a subgroup holds
  std::optional<std::int64_t> spilled_registers;
  // AMD: they go to lanes of vector registers, not to memory.
  std::optional<std::int64_t> spilled_scalar_registers;
  std::optional<std::int64_t> spill_stores;  // instructions that store a spilled value to memory
  // Private memory, whatever for: spills, but also arrays with computed indices. NVIDIA, Apple:
  // of an invocation; AMD: of a subgroup.
  std::optional<std::int64_t> scratch_bytes;
  std::optional<std::int64_t> shared_bytes;        // of a workgroup
  std::optional<std::int64_t> subgroups_per_unit;  // in flight at most: an AMD SIMD, an NVIDIA SM
  std::vector<CompilerStatistic> statistics;       // all that there were

  bool operator==(const CompilerFacts&) const = default;
};

/// Knows the names that NVIDIA's, AMD's and Mesa's drivers use; others stay in statistics.
CompilerFacts compiler_facts(std::span<const CompilerStatistic> statistics);

/// Why a kernel is called spilled: its driver says plainly that registers go to memory. Scratch
/// memory alone does not say so.
std::optional<std::string> spill_reason(const CompilerFacts& facts);

}  // namespace rooftile
