#include "tuner/measure/probe.h"

#include <gtest/gtest.h>

namespace rooftile {
namespace {

/// Duration of the dispatch that is chosen on a device that takes this long for one iteration.
double chosen_ns(double iteration_ns) {
  const auto timed = [&](std::uint32_t trips) { return trips * iteration_ns; };
  return timed(long_enough({}, timed));
}

TEST(LongEnough, IsMillisecondsOnDevicesOfAnySpeed) {
  for (double iteration_ns = 1; iteration_ns < 1.5e6; iteration_ns *= 1.7) {
    EXPECT_GE(chosen_ns(iteration_ns), 2e6) << iteration_ns;
    EXPECT_LE(chosen_ns(iteration_ns), 8e6) << iteration_ns;
  }
}

TEST(LongEnough, IsNotDecidedByOneDisturbedReading) {
  int readings = 0;
  const auto timed = [&](std::uint32_t trips) { return ++readings == 1 ? 1e7 : 1e3 * trips; };
  EXPECT_GE(1e3 * long_enough({}, timed), 2e6);
}

TEST(LongEnough, IsAtMostWhatTheDeviceRunsOfLoops) {
  DeviceLimits limits;
  limits.max_loop_trips = 100;
  EXPECT_EQ(long_enough(limits, [](std::uint32_t) { return 1.0; }), 100U);
}

}  // namespace
}  // namespace rooftile
