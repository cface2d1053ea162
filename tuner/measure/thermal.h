// Temperatures and throttling events that the system reports.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>

namespace rooftile {

struct Thermal {
  std::optional<double> highest_c;              ///< Maximum of all sensors.
  std::optional<std::int64_t> throttle_events;  ///< Since boot, of all processors.
};

/// Reads thermal zones, hwmon sensors (those of GPUs included) and the processors' throttle
/// counters below `system`; Linux only. No value where a file is missing or implausible.
Thermal read_thermal(const std::filesystem::path& system = "/sys");

}  // namespace rooftile
