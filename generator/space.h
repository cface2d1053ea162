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
/// A product of values; parameters left out keep their defaults. A family has several of them where
/// one product would hold mostly points that nobody would try.
struct FamilySpace {
  Family family;
  std::string purpose;                      // what these points are for, in words
  int least_invocations, most_invocations;  // of a workgroup: others are left out
  // Matrix kernels get matrix_m, matrix_n, matrix_k and subgroup_size from the device; where the
  // first parameter is their scope, workgroup, the shape is the tile.
  std::vector<ParameterValues> parameters;
};

/// Every family's tables of values (space_tables.cpp), before any rule.
const std::vector<FamilySpace>& space_tables();
/// All legal variants for a device, in a fixed order; deterministic for equal limits, none twice.
std::vector<Variant> legal_variants(const DeviceLimits& limits);
/// Legal for every device, and for every problem whose operands it can bind and address (storage
/// buffer range, 32-bit element addresses) on drivers without a limit on loop trips: the last entry
/// of every ranked list, and the untuned baseline.
Variant fallback_variant();
/// The untuned default: what a careful person would pick by hand for this kind of device, before
/// any tuning. Legal on it, though not for every problem.
Variant default_variant(const DeviceProfile& device);

}  // namespace rooftile
