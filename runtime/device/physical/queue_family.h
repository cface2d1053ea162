// Choice of the queue family that runs the kernels. A pure function of values.
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

/// Returns the index of the compute family with the most valid timestamp bits, and among equals the
/// first one. Tuning depends on timestamps, and drivers list their general-purpose family, which is
/// never slower, first. nullopt: there is no compute queue.
std::optional<std::uint32_t> choose_queue_family(std::span<const QueueFamily> families);

}  // namespace rooftile
