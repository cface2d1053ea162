// What becomes of a candidate whose compiler moved registers to memory: usually it has lost, and
// measuring it is time that others need.
#pragma once

#include <cstdint>

namespace rooftile {

enum class Spilled : std::uint8_t { kMeasure, kDrop };

/// What speaks for a candidate, whatever its compiler says.
struct SpillDefence {
  bool trusted = false;     // the default, the fallback, or what has won on another problem
  bool measured = false;    // on this problem: times are better evidence than registers
  bool first_here = false;  // nothing else has been measured on this problem
};

/// Dropping never leaves a problem without a kernel: only what comes after a measured one is
/// dropped.
constexpr Spilled spilled_policy(const SpillDefence& defence) {
  return defence.trusted || defence.measured || defence.first_here ? Spilled::kMeasure
                                                                   : Spilled::kDrop;
}

}  // namespace rooftile
