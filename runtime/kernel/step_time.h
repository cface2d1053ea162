// Limits of the duration of submissions and compilations.
#pragma once

#include <algorithm>

namespace rooftile {

/// Well below the shortest watchdog of an operating system (2 s). Longer calls run as several
/// submissions of about this length.
inline constexpr double kStepNs = 0.25e9;

/// Time after which work of this predicted duration counts as a hang.
inline double hang_ns(double expected_ns) {
  constexpr double kRatio = 100.0, kShortestNs = 10e9;
  return std::max(kShortestNs, kRatio * expected_ns);
}

/// Compilers need seconds for large kernels on slow machines; a longer compilation counts as a
/// hang.
inline constexpr double kCompileTimeoutNs = 60e9;

}  // namespace rooftile
