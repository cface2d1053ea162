// Comparison of a calibration with the preceding one: which figures have changed by more than their
// scatter. Pure functions.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "core/figure.h"

namespace rooftile {

struct FigureDrift {
  Figure now, before;
  double ratio = 1;            ///< New over old value; infinity from 0.
  bool beyond_spread = false;  ///< The difference exceeds twice the joint standard deviation.
};

/// Compares figures that both calibrations have, in the order of `now`.
std::vector<FigureDrift> calibration_drift(std::span<const Figure> now,
                                           std::span<const Figure> before);

}  // namespace rooftile
