#include "runtime/model/fit/staircase.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

namespace rooftile {
namespace {

constexpr std::size_t kMost = 2048;

std::size_t found(std::size_t units, double launch, double noise, std::uint32_t seed) {
  std::mt19937 random(seed);
  std::exponential_distribution<double> disturbed(1);
  const auto time_ns = [&](std::size_t workgroups) {
    const auto waves = static_cast<double>((workgroups + units - 1) / units);
    return 1e6 * (launch + waves) * (1 + noise * disturbed(random));
  };
  return units_of_staircase(climb(time_ns, kMost));
}

TEST(Staircase, FindsTheUnits) {
  for (const std::size_t units : {1, 2, 3, 7, 24, 46, 108, 132, 304})
    EXPECT_EQ(found(units, 0, 0, 0), units);
}

TEST(Staircase, ToleratesLaunchTimeAndDisturbances) {
  for (const std::size_t units : {1, 2, 4, 16})
    for (std::uint32_t seed = 0; seed < 50; ++seed)
      EXPECT_EQ(found(units, 0.02, 0.03, seed), units) << seed;
}

TEST(Staircase, ManyUnitsAreFoundWithinSomeOfThem) {
  for (std::uint32_t seed = 0; seed < 50; ++seed)
    EXPECT_NEAR(static_cast<double>(found(132, 0.02, 0.02, seed)), 132, 4) << seed;
}

// The permitted sizes show no step, so the device has at least as many units as workgroups ran.
TEST(Staircase, WithoutAStepAllRunAtOnce) {
  const auto stairs = climb([](std::size_t) { return 5.0; }, 8);
  EXPECT_GE(units_of_staircase(stairs), stairs.back().workgroups);
}

TEST(Staircase, FindsTheUnitsInFewMeasurements) {
  const auto stairs =
      climb([](std::size_t g) { return std::ceil(static_cast<double>(g) / 132); }, kMost);
  EXPECT_LT(stairs.size(), 30u);
  EXPECT_EQ(units_of_staircase({}), 1u);
}

}  // namespace
}  // namespace rooftile
