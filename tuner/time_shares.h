// Division of a run's time among its problems.
#pragma once

#include <span>
#include <vector>

#include "core/variant.h"
#include "runtime/model/calibration.h"
#include "tuner/problems/problem_sets.h"

namespace rooftile {

/// Returns a weight for each problem: the square root of the cost of trying one candidate, by the
/// predicted time of `typical` (the default kernel). If the remaining loss of a search is inversely
/// proportional to the number of candidates tried, this division minimises the total loss: a call
/// of a second gets more time than one of a millisecond, and tries fewer candidates. Without rates
/// all weights are equal.
std::vector<double> slice_weights(std::span<const TuneProblem> problems, const Variant& typical,
                                  const DeviceRates& rates);

/// Returns the seconds for problem i, given the seconds left for it and those after it.
double slice_s(std::span<const double> weights, std::size_t i, double left_s);

}  // namespace rooftile
