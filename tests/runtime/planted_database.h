// A tuning database of this machine's first device in which nothing was measured: certified kernels
// of all four transposes, and a calibration by which the device wins every product that is not tiny.
#pragma once

#include <filesystem>

namespace rooftile {

/// Throws kDevice where there is no Vulkan device.
void plant_database(const std::filesystem::path& file);

}  // namespace rooftile
