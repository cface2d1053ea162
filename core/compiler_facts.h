// What a driver's compiler reports about a kernel: registers, spills, occupancy, memory. Every
// driver names them differently; CompilerFacts holds them under one set of names.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <variant>
#include <vector>

namespace rooftile {

/// One statistic as the driver reports it (VK_KHR_pipeline_executable_properties). Its text is
/// untrusted.
struct CompilerStatistic {
  std::string executable;  // the part of the pipeline that the statistic describes
  std::string name, description;
  std::variant<bool, std::int64_t, std::uint64_t, double> value;

  bool operator==(const CompilerStatistic&) const = default;
};

/// The facts that are known; a member is empty where the driver does not report it. Where a
/// pipeline has several executables, each member is the largest of theirs.
struct CompilerFacts {
  // Registers of an invocation (on AMD its vector registers) in the driver's unit: 32 bits, but 16
  // bits on Apple's devices and 128 on Qualcomm's.
  std::optional<std::int64_t> registers;
  std::optional<std::int64_t> scalar_registers;  // registers of a subgroup on AMD
  std::optional<std::int64_t> spilled_registers;
  // On AMD these are spilled to lanes of vector registers, not to memory.
  std::optional<std::int64_t> spilled_scalar_registers;
  std::optional<std::int64_t> spill_stores;  // instructions that store a spilled value to memory
  // Private memory for any purpose: spills, but also arrays with computed indices. NVIDIA and Apple
  // count it for an invocation, AMD for a subgroup.
  std::optional<std::int64_t> scratch_bytes;
  std::optional<std::int64_t> shared_bytes;  // of a workgroup
  // Largest number of subgroups in flight on an AMD SIMD or an NVIDIA SM.
  std::optional<std::int64_t> subgroups_per_unit;
  std::vector<CompilerStatistic> statistics;  // every statistic of the driver

  bool operator==(const CompilerFacts&) const = default;
};

/// Recognises the names that NVIDIA's, AMD's and Mesa's drivers use; the other statistics are kept
/// as they are.
CompilerFacts compiler_facts(std::span<const CompilerStatistic> statistics);

/// The reason why a kernel counts as spilled: its driver reports that registers go to memory.
/// Scratch memory alone is no such reason.
std::optional<std::string> spill_reason(const CompilerFacts& facts);

}  // namespace rooftile
