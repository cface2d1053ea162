// A calibration beside the one before: which figures have moved by more than they scatter. Pure
// functions.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "core/figure.h"

namespace rooftile {

struct FigureDrift {
  Figure now, before;
  double ratio = 1;            // now over before; infinity from 0
  bool beyond_spread = false;  // the difference is above twice the joint standard deviation
};

/// Of figures that both have, in the order of now.
std::vector<FigureDrift> calibration_drift(std::span<const Figure> now,
                                           std::span<const Figure> before);

}  // namespace rooftile
