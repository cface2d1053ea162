// Subgroup sizes as a driver reports them, believed only where Vulkan allows them.
#pragma once

#include <cstdint>

#include "core/device_profile.h"

namespace rooftile {

struct ReportedSubgroups {
  std::uint32_t size = 0;             // the default
  bool broadcast = false;             // ballot operations in compute shaders
  bool size_control = false;          // a size in [least, most] can be required of them
  std::uint32_t least = 0, most = 0;  // powers of two
  std::uint32_t max_workgroup_subgroups = 0;
};

/// Powers of two up to 128.
bool is_subgroup_size(std::uint32_t size);

/// Fills in what the limits say of subgroups. A default that cannot be leaves subgroups of 1
/// without any operation, and a range that cannot be leaves the default only: kernels that depend
/// on them are illegal then.
void take_subgroups(const ReportedSubgroups& reported, DeviceLimits& limits);

}  // namespace rooftile
