// What the drivers of eleven GPUs report: one GPU of each generation that has a table, and those of
// Intel that differ in matrix units.
#pragma once

#include <string>
#include <vector>

#include "core/device_profile.h"

namespace rooftile {

/// Profiles as `scripts/gpu-compilers run CHIP build/rooftile devices --json` printed them with
/// Mesa 25.0 (AMD, Intel) and 26 (NVIDIA) on 2026-11-23 and 27, the chip's name in `name`. Neither
/// memory nor compute units are known there.
std::vector<DeviceProfile> chip_profiles();
DeviceProfile chip_profile(const std::string& name);

}  // namespace rooftile
