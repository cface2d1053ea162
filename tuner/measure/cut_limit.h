// The device time beyond which a candidate is only probed, because it cannot be the best.
#pragma once

#include <algorithm>

namespace rooftile {

/// Times of kernels that take less than this are too uncertain to rule a candidate out.
inline constexpr double kAlwaysTimedNs = 1e6;

/// best_ns: time of the best kernel so far. ratio: times the best up to which others are timed.
inline double cut_limit_ns(double best_ns, double ratio = 8) {
  return std::max(ratio * best_ns, kAlwaysTimedNs);
}

}  // namespace rooftile
