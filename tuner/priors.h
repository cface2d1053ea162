// What to try first on a device of this kind: tables in priors/, one per vendor and generation.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/device_profile.h"
#include "core/problem.h"
#include "core/variant.h"

namespace rooftile {

struct Prior {
  Variant variant;
  std::string source;  // whose choice, or which measurement
};

/// Names of the tables for this device ("nvidia.txt"), the most specific one first; none for a kind
/// that nobody has written one for.
std::vector<std::string_view> prior_tables(const DeviceProfile& device);

/// The lines of one table that are for problems like this one, in the table's order. Whether a
/// kernel is legal is the caller's to ask.
std::vector<Prior> priors_in(std::string_view table, const Problem& p);

/// Of all tables for this device.
std::vector<Prior> priors_for(const DeviceProfile& device, const Problem& p);

/// What a search without any history tries first: the untuned default, then the priors.
std::vector<Variant> first_starts(const DeviceProfile& device, const Problem& p);

/// All tables by name, and all of one's kernels: for tests and reports. Throws kInvalidArgument,
/// with table and line, for a line that is not understood.
std::vector<std::string_view> all_prior_tables();
std::vector<Prior> all_priors_in(std::string_view table);

}  // namespace rooftile
