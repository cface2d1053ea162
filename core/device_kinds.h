// Vendor ids, and tests for the kinds of GPUs that the priors and the model distinguish.
#pragma once

#include <algorithm>
#include <cstdint>
#include <iterator>

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

/// Whether the driver replaces matrix operations by others, so that `matrix_shapes` are no units of
/// the device. Software devices do, and Mesa does on Intel's GPUs without XMX: Xe-LP, which adds no
/// floats atomically, and the integrated ones with subgroups of 8 but for Arrow Lake H
/// (has_systolic in Mesa's intel_device_info.c; what its compiler emits for 15 ids agrees).
inline bool emulates_matrix_units(const DeviceProfile& device) {
  constexpr std::uint32_t kArrowLakeH[] = {0x7d51, 0x7dd1};
  if (device.kind == DeviceKind::kSoftware) return true;
  if (device.vendor_id != kIntel || device.limits.min_subgroup_size > 8) return false;  // Xe2
  return !device.limits.float32_atomic_add ||
         (device.kind == DeviceKind::kIntegrated &&
          std::ranges::find(kArrowLakeH, device.device_id) == std::end(kArrowLakeH));
}

}  // namespace rooftile
