// What the system tells of heat, where it does.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>

namespace rooftile {

struct Thermal {
  std::optional<double> highest_c;              // of all sensors
  std::optional<std::int64_t> throttle_events;  // since boot, of all processors
};

/// Thermal zones, hwmon sensors (GPUs' among them) and the processors' throttle counters below
/// `system`; Linux only. Nothing where a file is missing or makes no sense.
Thermal read_thermal(const std::filesystem::path& system = "/sys");

}  // namespace rooftile
