// How long one submission may take.
#pragma once

namespace rooftile {

/// Well under the shortest watchdog of an operating system (2 s): longer products run as panels of
/// about this length.
inline constexpr double kStepNs = 0.25e9;

}  // namespace rooftile
