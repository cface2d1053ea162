// Treatment of candidates whose compiler spilled registers to memory: they usually lose, and
// measuring them takes time from others.
#pragma once

#include <cstdint>

namespace rooftile {

enum class Spilled : std::uint8_t { kMeasure, kDrop };

/// Reasons to measure a candidate in spite of spilled registers.
struct SpillDefence {
  bool trusted = false;     ///< The default, the fallback, or a winner on another problem.
  bool measured = false;    ///< Measured on this problem; times are better evidence than registers.
  bool first_here = false;  ///< Nothing else has been measured on this problem.
};

/// Dropping never leaves a problem without a kernel, because only candidates after a measured one
/// are dropped.
constexpr Spilled spilled_policy(const SpillDefence& defence) {
  return defence.trusted || defence.measured || defence.first_here ? Spilled::kMeasure
                                                                   : Spilled::kDrop;
}

}  // namespace rooftile
