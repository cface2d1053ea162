// Bytes, intensity and bound of a kernel at each level of memory.
#pragma once

#include <vector>

#include "report/report.h"
#include "runtime/model/counted.h"
#include "runtime/model/dispatch.h"

namespace rooftile {

/// Levels that the kernel moves bytes through, from device memory inwards, then the link to the
/// host. call: of the problem with operands in host memory. Bytes are counted where there are
/// such, else modelled.
std::vector<LevelReport> levels(const ProblemReport& problem, const DeviceRates& rates,
                                const Decision& call, const CountedBytes& counted = {});
/// The levels that were measured, with their rates.
std::vector<LevelReport> level_roofs(const DeviceRates& rates);

}  // namespace rooftile
