// Subgroup sizes that a driver reports, accepted only where Vulkan allows them.
#pragma once

#include <cstdint>

#include "core/device_profile.h"

namespace rooftile {

struct ReportedSubgroups {
  std::uint32_t size = 0;             ///< Default size.
  bool broadcast = false;             ///< Ballot operations in compute shaders.
  bool size_control = false;          ///< A size in [least, most] can be required of pipelines.
  std::uint32_t least = 0, most = 0;  ///< Powers of two.
  std::uint32_t max_workgroup_subgroups = 0;
};

/// Whether the size is a power of two up to 128.
bool is_subgroup_size(std::uint32_t size);

/// Fills in the subgroup limits. An illegal default size gives subgroups of 1 without any
/// operation, and an illegal range gives the default only; kernels that depend on them are then
/// illegal.
void take_subgroups(const ReportedSubgroups& reported, DeviceLimits& limits);

}  // namespace rooftile
