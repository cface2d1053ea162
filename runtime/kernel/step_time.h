// Limits of the duration of submissions and compilations.
#pragma once

#include <algorithm>

#include "generator/layout.h"

namespace rooftile {

/// Well below the shortest watchdog of an operating system (2 s). Longer calls run as several
/// submissions of about this length.
inline constexpr double kStepNs = 0.25e9;
/// How many times longer than predicted a kernel may take where its data asks for it, as far as
/// submissions provide for it. Sums that are not finite take about 50 times as long with float32
/// operands in parts (templates/matrix/store.glsl): a submission of kStepNs, 0.8 s.
inline double slowness(const Variant& v, const Types& t) { return splits_operands(v, t) ? 16 : 1; }

/// Time after which work of this predicted duration counts as a hang.
inline double hang_ns(double expected_ns) {
  constexpr double kRatio = 100.0, kShortestNs = 10e9;
  return std::max(kShortestNs, kRatio * expected_ns);
}

/// Compilers need seconds for large kernels on slow machines; a longer compilation counts as a
/// hang.
inline constexpr double kCompileTimeoutNs = 60e9;

}  // namespace rooftile
