// Problems for `rooftile tune --from-log`: those that programs computed without a tuned kernel.
#pragma once

#include <vector>

#include "db/store.h"
#include "tuner/problems/problem_sets.h"

namespace rooftile {

/// Returns one problem for each bucket of the device's log, in descending order of calls times
/// predicted time (by the roofline; flops before calibration), summed over the bucket, because
/// tuning one problem serves its bucket. The problem is the bucket's hottest, and its weight is
/// that sum.
std::vector<TuneProblem> logged_problems(const Store& store, RowId device);

/// Returns the number of problems that a budget has time for, at least one. With less than some
/// seconds for each, no search would find anything.
std::size_t problems_within(double budget_s);

}  // namespace rooftile
