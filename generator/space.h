// The kernel space as data: values per parameter and family, filtered by the rules.
#pragma once

#include <string>
#include <vector>

#include "core/device_profile.h"
#include "core/variant.h"

namespace rooftile {

struct ParameterValues {
  std::string parameter;
  std::vector<std::string> values;
};
struct FamilySpace {
  Family family;
  std::vector<ParameterValues> parameters;
};

/// Every family's table of values (space.cpp), before any rule.
const std::vector<FamilySpace>& space_tables();
/// All legal variants for a device, in a fixed order; deterministic for equal limits.
std::vector<Variant> legal_variants(const DeviceLimits& limits);
/// Legal for every device and problem: the last entry of every ranked list, and the untuned baseline.
Variant fallback_variant();
/// The untuned default: what a careful person would pick by hand for this kind of device, before any tuning.
Variant default_variant(const DeviceProfile& device);

}  // namespace rooftile
