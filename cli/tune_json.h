#pragma once

#include <nlohmann/json.hpp>
#include <vector>

#include "tuner/tune.h"

namespace rooftile {

/// One device of `rooftile tune --json` (docs/json.md). wanted: the problems of the run.
nlohmann::ordered_json tune_json(const DeviceProfile& device,
                                 const std::vector<TuneProblem>& wanted, double budget_s,
                                 const TuneReport& report);

}  // namespace rooftile
