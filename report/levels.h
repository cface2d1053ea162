// The bytes, intensity and bound of a kernel at each level of memory. Pure functions.
#pragma once

#include <vector>

#include "report/report_data.h"
#include "runtime/model/counted.h"
#include "runtime/model/dispatch.h"

namespace rooftile {

/// The levels that the kernel moves bytes through, from device memory inwards, then the link to the
/// host. call is the decision for the problem with operands in host memory. Bytes are those that
/// the driver counted, where it did, else those of the model.
std::vector<LevelReport> levels(const ProblemReport& problem, const DeviceRates& rates,
                                const Decision& call, const CountedBytes& counted = {});
/// The levels that were calibrated, with their rates.
std::vector<LevelReport> level_roofs(const DeviceRates& rates);

}  // namespace rooftile
