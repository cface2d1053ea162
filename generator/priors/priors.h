// Kernels that suit a kind of device: tables beside this file, one for each vendor and generation.
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
  std::string source;  ///< Author of the choice, or the measurement behind it.
};

/// Returns the names of the tables for this device ("nvidia.txt"), the most specific one first;
/// none for a kind without a table.
std::vector<std::string_view> prior_tables(const DeviceProfile& device);

/// Returns the kinds of problems that a line may name and that this one is of, the most general one
/// first ("thin", "row").
std::vector<std::string_view> kinds_of(const Problem& p);

/// Returns the lines of one table for problems like this one, in the table's order. The caller
/// checks whether a kernel is legal.
std::vector<Prior> priors_in(std::string_view table, const Problem& p);

/// Same for all tables of this device.
std::vector<Prior> priors_for(const DeviceProfile& device, const Problem& p);

/// Returns the lines of all tables of this device that name this kind, for operands like those of
/// the problem.
std::vector<Prior> priors_for_kind(const DeviceProfile& device, const Problem& p,
                                   std::string_view kind);

/// Return the names of all tables, and all kernels of one, for tests and reports. Throw
/// kInvalidArgument, with table and line, for a line that cannot be parsed.
std::vector<std::string_view> all_prior_tables();
std::vector<Prior> all_priors_in(std::string_view table);

}  // namespace rooftile
