// How a run's time is divided among its problems.
#pragma once

#include <span>
#include <vector>

#include "core/variant.h"
#include "runtime/model/calibration.h"
#include "tuner/tune.h"

namespace rooftile {

/// Of each problem: the root of what trying one candidate takes, by the predicted time of `typical`
/// (the default kernel). Were what a search leaves to be found inversely proportional to the
/// candidates that it tried, this division would leave the least in all: a product of a second gets
/// more time than one of a millisecond, and tries fewer candidates. Without rates all are equal.
std::vector<double> slice_weights(std::span<const TuneProblem> problems, const Variant& typical,
                                  const DeviceRates& rates);

/// What is left for problem i, of the seconds left for it and those after it.
double slice_s(std::span<const double> weights, std::size_t i, double left_s);

}  // namespace rooftile
