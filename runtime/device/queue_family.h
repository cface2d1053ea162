// Which queue family runs the kernels. A pure function of values.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

namespace rooftile {

struct QueueFamily {
  bool compute = false;
  std::uint32_t queue_count = 0;
  std::uint32_t timestamp_valid_bits = 0;
};

/// Index of the compute family with the most valid timestamp bits, the first one listed among
/// equals: tuning lives on timestamps, and drivers list their general-purpose family, which is
/// never slower, first. nullopt: no compute queue.
std::optional<std::uint32_t> choose_queue_family(std::span<const QueueFamily> families);

}  // namespace rooftile
