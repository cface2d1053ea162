// Drivers that leave the loops of an invocation after a number of trips in all, without reporting
// it (DeviceLimits::max_loop_trips): what would take more is refused.
#pragma once

#include <cstdint>

#include "core/device_profile.h"
#include "core/error.h"

namespace rooftile {

/// Upper bound of the trips of a loop of so many iterations, each of which takes `inner` trips of
/// loops of its own. Its last check counts, and one that a driver may add.
constexpr double loop_of(std::int64_t iterations, double inner = 0) {
  return static_cast<double>(iterations) * (1 + inner) + 2;
}

/// Throws kUnsupported if an invocation of `what` takes more trips than the driver runs.
inline void check_loop_trips(const char* what, double trips, const DeviceLimits& limits) {
  if (limits.max_loop_trips > 0 && trips > limits.max_loop_trips)
    fail(ErrorCode::kUnsupported,
         "{} takes {:.0f} loop trips an invocation, and this driver leaves loops after {} of them: "
         "divide it, or compute it on the host",
         what, trips, limits.max_loop_trips);
}

}  // namespace rooftile
