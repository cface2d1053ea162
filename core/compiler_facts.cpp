#include "core/compiler_facts.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>
#include <string_view>
#include <type_traits>

namespace rooftile {
namespace {

using Fact = std::optional<std::int64_t> CompilerFacts::*;

struct Name {
  std::string_view name;
  Fact fact;
};

/// NVIDIA's driver 580 has bytes in the low half of this value, and 16 in the high half.
constexpr std::string_view kLocalMemory = "Local Memory Size";

// The names as the drivers write them. Where a driver reports two names of one fact, the first in
// this list counts. Mesa's are generated from XML and, before 25.1, in each driver's pipeline code;
// AMD's own are in xgl's icd/api/vk_pipeline.cpp; NVIDIA's were observed on its driver.
constexpr std::array kNames = {
    Name{"VGPRs", &CompilerFacts::registers},                         // RADV
    Name{"numUsedVgprs", &CompilerFacts::registers},                  // AMD
    Name{"Register Count", &CompilerFacts::registers},                // NVIDIA
    Name{"Number of GPRs", &CompilerFacts::registers},                // NVK, Honeykrisp
    Name{"GPRs", &CompilerFacts::registers},                          // Honeykrisp
    Name{"Registers used", &CompilerFacts::registers},                // Turnip, PanVK
    Name{"GRF registers", &CompilerFacts::registers},                 // ANV
    Name{"Max live registers", &CompilerFacts::registers},            // ANV before 25.1
    Name{"Temp count", &CompilerFacts::registers},                    // PowerVR
    Name{"SGPRs", &CompilerFacts::scalar_registers},                  // RADV
    Name{"numUsedSgprs", &CompilerFacts::scalar_registers},           // AMD
    Name{"Spilled VGPRs", &CompilerFacts::spilled_registers},         // RADV
    Name{"Spill count", &CompilerFacts::spilled_registers},           // PowerVR
    Name{"Spilled SGPRs", &CompilerFacts::spilled_scalar_registers},  // RADV
    Name{"Spill Count", &CompilerFacts::spill_stores},                // ANV before 25.1
    Name{"Spills", &CompilerFacts::spill_stores},                     // ANV, PanVK, Honeykrisp
    Name{"TMU Spills", &CompilerFacts::spill_stores},                 // V3DV
    Name{"Spills to memory", &CompilerFacts::spill_stores},           // NVK
    Name{"Scratch size", &CompilerFacts::scratch_bytes},              // RADV, PowerVR
    Name{"scratchMemUsageInBytes", &CompilerFacts::scratch_bytes},    // AMD
    Name{kLocalMemory, &CompilerFacts::scratch_bytes},                // NVIDIA
    Name{"SLM size", &CompilerFacts::scratch_bytes},                  // NVK
    Name{"SLM Size", &CompilerFacts::scratch_bytes},                  // NVK before 25.1
    Name{"Scratch Memory Size", &CompilerFacts::scratch_bytes},       // ANV
    Name{"Scratch", &CompilerFacts::scratch_bytes},                   // Honeykrisp
    Name{"Spill Size", &CompilerFacts::scratch_bytes},                // V3DV
    Name{"LDS size", &CompilerFacts::shared_bytes},                   // RADV
    Name{"ldsUsageSizeInBytes", &CompilerFacts::shared_bytes},        // AMD
    Name{"Shared Memory Size", &CompilerFacts::shared_bytes},         // NVIDIA
    Name{"Workgroup Memory Size", &CompilerFacts::shared_bytes},      // ANV
    Name{"Subgroups per SIMD", &CompilerFacts::subgroups_per_unit},   // RADV
    Name{"Max warps/SM", &CompilerFacts::subgroups_per_unit},         // NVK
    Name{"Max Waves Per Core", &CompilerFacts::subgroups_per_unit},   // Turnip
};

/// Returns nothing for a value that cannot be a number of registers or bytes.
std::optional<std::int64_t> count_of(const CompilerStatistic& statistic) {
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
  return std::visit(
      []<typename Value>(Value value) -> std::optional<std::int64_t> {
        if constexpr (std::is_same_v<Value, std::int64_t>) {
          if (value >= 0) return value;
        } else if constexpr (std::is_same_v<Value, std::uint64_t>) {
          if (value <= static_cast<std::uint64_t>(kMost)) return static_cast<std::int64_t>(value);
        } else if constexpr (std::is_same_v<Value, double>) {
          if (value >= 0 && value < static_cast<double>(kMost))
            return static_cast<std::int64_t>(value);
        }
        return std::nullopt;
      },
      statistic.value);
}

}  // namespace

CompilerFacts compiler_facts(std::span<const CompilerStatistic> statistics) {
  CompilerFacts facts;
  facts.statistics.assign(statistics.begin(), statistics.end());
  for (const Name& known : kNames) {
    if (facts.*known.fact) continue;
    for (const CompilerStatistic& statistic : statistics) {
      if (statistic.name != known.name) continue;
      if (auto count = count_of(statistic)) {
        if (known.name == kLocalMemory) *count &= 0xffff'ffff;
        facts.*known.fact = std::max(*count, (facts.*known.fact).value_or(0));
      }
    }
  }
  return facts;
}

std::optional<std::string> spill_reason(const CompilerFacts& facts) {
  if (facts.spilled_registers.value_or(0) > 0)
    return fmt::format("{} registers spilled", *facts.spilled_registers);
  if (facts.spill_stores.value_or(0) > 0)
    return fmt::format("{} stores of spilled registers", *facts.spill_stores);
  return std::nullopt;
}

}  // namespace rooftile
