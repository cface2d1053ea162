// Conversion of timeouts to Vulkan's.
#pragma once

#include <cstdint>
#include <limits>

namespace rooftile {

/// Returns Vulkan's "no limit" for every timeout that does not fit.
inline std::uint64_t wait_ns(double timeout_ns) {
  constexpr auto kForever = std::numeric_limits<std::uint64_t>::max();
  return timeout_ns < static_cast<double>(kForever) ? static_cast<std::uint64_t>(timeout_ns)
                                                    : kForever;
}

}  // namespace rooftile
