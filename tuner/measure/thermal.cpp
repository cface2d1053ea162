#include "tuner/measure/thermal.h"

#include <algorithm>
#include <fstream>
#include <string>

#include "tuner/measure/matching_files.h"

namespace rooftile {
namespace {

namespace fs = std::filesystem;

std::optional<std::int64_t> number_in(const fs::path& file) {
  std::int64_t value = 0;
  std::ifstream stream(file);
  return stream >> value ? std::optional(value) : std::nullopt;
}

}  // namespace

Thermal read_thermal(const fs::path& system) {
  Thermal thermal;
  const auto sensor = [&](const fs::path& file) {
    // In thousandths of a degree; sensors that are not connected report 0, -273 or millions.
    const std::optional<std::int64_t> reading = number_in(file);
    if (!reading || *reading <= 0 || *reading > 150'000) return;
    thermal.highest_c =
        std::max(thermal.highest_c.value_or(0), static_cast<double>(*reading) * 1e-3);
  };
  for (const char* pattern : {"class/thermal/thermal_zone*/temp", "class/hwmon/*/temp*_input"})
    for (const std::string& file : matching_files((system / pattern).string())) sensor(file);
  for (const char* counter : {"core_throttle_count", "package_throttle_count"})
    for (const std::string& file :
         matching_files((system / "devices/system/cpu/*/thermal_throttle" / counter).string()))
      if (const auto events = number_in(file))
        thermal.throttle_events = thermal.throttle_events.value_or(0) + *events;
  return thermal;
}

}  // namespace rooftile
