#include "tuner/measure/thermal.h"

#include <algorithm>
#include <fstream>
#include <string>

namespace rooftile {
namespace {

namespace fs = std::filesystem;

std::optional<std::int64_t> number_in(const fs::path& file) {
  std::int64_t value = 0;
  std::ifstream stream(file);
  return stream >> value ? std::optional(value) : std::nullopt;
}

template <typename Visit>
void for_each_entry(const fs::path& folder, const Visit& visit) {
  std::error_code error;
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error))
    visit(it->path());
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
  for_each_entry(system / "class" / "thermal", [&](const fs::path& zone) {
    if (zone.filename().string().starts_with("thermal_zone")) sensor(zone / "temp");
  });
  for_each_entry(system / "class" / "hwmon", [&](const fs::path& chip) {
    for_each_entry(chip, [&](const fs::path& file) {
      const std::string name = file.filename().string();
      if (name.starts_with("temp") && name.ends_with("_input")) sensor(file);
    });
  });
  for_each_entry(system / "devices" / "system" / "cpu", [&](const fs::path& processor) {
    for (const char* counter : {"core_throttle_count", "package_throttle_count"})
      if (const auto events = number_in(processor / "thermal_throttle" / counter))
        thermal.throttle_events = thermal.throttle_events.value_or(0) + *events;
  });
  return thermal;
}

}  // namespace rooftile
