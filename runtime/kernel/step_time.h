// Limit of one submission's duration.
#pragma once

namespace rooftile {

/// Well below the shortest watchdog of an operating system (2 s). Longer calls run as several
/// submissions of about this length.
inline constexpr double kStepNs = 0.25e9;

}  // namespace rooftile
