// Profiles of the GPUs for which scripts/gpu-compilers compiles, as far as they tell generations
// apart.
#pragma once

#include <map>
#include <string>

#include "core/device_profile.h"

namespace rooftile {

/// By the name that scripts/gpu-compilers takes. Throws for unknown chips.
inline DeviceProfile gpu_profile(const std::string& chip) {
  struct Features {
    std::uint32_t vendor_id, min_subgroup_size;
    bool matrices;
    DeviceKind kind = DeviceKind::kDiscrete;
  };
  static const std::map<std::string, Features> kChips = {
      {"NAVI21", {0x1002, 32, false}},
      {"NAVI31", {0x1002, 32, true}},
      {"GFX1151", {0x1002, 32, true}},
      {"MI200", {0x1002, 64, false}},
      {"162", {0x10de, 32, true}},
      {"172", {0x10de, 32, true}},
      {"dg2", {0x8086, 8, true}},
      {"bmg", {0x8086, 16, true}},
      {"mtl", {0x8086, 8, true, DeviceKind::kIntegrated}}};
  const Features& features = kChips.at(chip);
  DeviceProfile profile;
  profile.vendor_id = features.vendor_id;
  profile.kind = features.kind;
  profile.limits.min_subgroup_size = features.min_subgroup_size;
  profile.limits.float32_atomic_add = true;
  if (features.matrices) profile.limits.matrix_shapes = {{.m = 16, .n = 16, .k = 16}};
  return profile;
}

}  // namespace rooftile
