// What `rooftile tune --from-log` tunes: the problems that programs asked for in vain.
#pragma once

#include <vector>

#include "db/store.h"
#include "tuner/tune.h"

namespace rooftile {

/// One problem for each bucket of the device's log, hottest first: calls times predicted time (the
/// roofline's; flops before calibration), summed over the bucket, because tuning one problem
/// settles its bucket. The problem is the bucket's hottest.
std::vector<TuneProblem> logged_problems(const Store& store, RowId device);

/// How many problems a budget has time for, at least one: with less than seconds for each, nothing
/// would be found for any.
std::size_t problems_within(double budget_s);

}  // namespace rooftile
