// One problem that a kernel is certified with.
#pragma once

#include <cstdint>
#include <vector>

#include "core/groups.h"
#include "core/problem.h"

namespace rooftile {

/// Special values in the operands besides uniform values in [-1, 1].
enum class InjectedFault : std::uint8_t {
  kNothing,
  kDenormals,
  kInfinities,
  kMagnitudes,  ///< All values have magnitudes from 2^-60 to 2^60 (types with float32's range).
  kOneLarge     ///< Of the products along k one is 1, and the others are a little below 2^-23.
};

struct CertificationCase {
  Problem problem;
  InjectedFault plant = InjectedFault::kNothing;
  bool nan_in_c = false;  ///< C holds NaN before a call with beta == 0.
  std::vector<Group> groups =
      {};  ///< Of a grouped problem. Rows behind them are not to be written.
};

}  // namespace rooftile
