// Vendor ids, and tests for the kinds of GPUs that the priors and the model distinguish.
#pragma once

#include <algorithm>
#include <cstdint>

#include "core/device_profile.h"

namespace rooftile {

// Vendors' PCI numbers, as in DeviceProfile::vendor_id.
inline constexpr std::uint32_t kNvidia = 0x10de, kAmd = 0x1002, kIntel = 0x8086, kApple = 0x106b,
                               kArm = 0x13b5, kQualcomm = 0x5143;

/// Whether the device is one of AMD's CDNA or Vega: RDNA also runs subgroups of 32.
inline bool is_amd_cdna(const DeviceProfile& device) {
  return device.vendor_id == kAmd && device.limits.min_subgroup_size == 64;
}

/// Whether the units of a subgroup multiply matrices of this type.
inline bool multiplies_matrices(const DeviceLimits& limits, DataType operand) {
  return std::ranges::any_of(limits.matrix_shapes,
                             [&](const MatrixShape& shape) { return shape.operand == operand; });
}

}  // namespace rooftile
