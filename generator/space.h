// The kernel space as data: the values of each parameter and family that the tuner tries, filtered
// by the legality rules. All functions are pure and safe to call from any thread.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/device_profile.h"
#include "core/problem.h"
#include "core/variant.h"
#include "generator/signature.h"

namespace rooftile {

struct ParameterValues {
  std::string parameter;
  std::vector<std::string> values;
};
/// All combinations of these values; parameters left out keep their defaults. A family has several
/// such spaces, because a single one would hold mostly points that are not worth a measurement.
/// Matrix kernels get matrix_m, matrix_n, matrix_k and subgroup_size from the device; with the
/// scope of a workgroup, the matrix is the tile.
struct FamilySpace {
  Family family;
  std::string purpose;                      // what these points are for, in words
  int least_invocations, most_invocations;  // points with smaller or larger workgroups are dropped
  std::vector<ParameterValues> parameters;
};

/// The spaces of all families (space_tables.cpp), before any rule is applied.
const std::vector<FamilySpace>& space_tables();
/// All variants that are legal on a device, none twice. Equal limits give the same order.
std::vector<Variant> legal_variants(const DeviceLimits& limits);
/// Why a search on this device leaves out a legal variant of its space (unless it is a default, a
/// prior or an earlier winner), in words, or nothing: the
/// same kernel with half of its shared_pad, which the space has as well, needs less shared memory
/// and has fewer bank conflicts. Software devices have no banks.
std::optional<std::string> skip_reason(const Variant& v, const DeviceProfile& device,
                                       const Signature& s);
/// Numbers of parts of k, beside those of the tables, with which this kernel's workgroups fill the
/// device's compute units once, twice and four times. Empty where the tiles of C do, or k is short.
std::vector<int> splits_for(const Variant& v, const Problem& p, double compute_units);
/// The last entry of every ranked list. It is legal for every device, and
/// on drivers without a limit on loop trips for every problem whose operands it can bind and
/// address (storage buffer range, 32-bit element addresses).
Variant fallback_variant();

}  // namespace rooftile
