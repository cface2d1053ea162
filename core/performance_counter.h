// The value of one of a driver's hardware counters (VK_KHR_performance_query).
#pragma once

#include <string>

namespace rooftile {

/// name, category and description are the driver's own words: untrusted text.
struct PerformanceCounter {
  std::string name, category, description;
  // "generic", "percent", "ns", "bytes", "bytes/s", "kelvin", "watts", "volts", "amps", "hertz" or
  // "cycles", as the driver says: "generic" may be anything.
  std::string unit;
  std::string scope;  // what the counter covers: "command" or "command buffer"
  double value = 0;   // in that unit; integers above 2^53 are rounded

  bool operator==(const PerformanceCounter&) const = default;
};

}  // namespace rooftile
