#include "tuner/measure/drift.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "core/numbers/statistics.h"
#include "tests/tuner/measure/noise_model.h"

namespace rooftile {
namespace {

/// Time as the runner takes it: the median of five runs.
double reference_reading(NoisyClock& clock) {
  std::vector<double> sample;
  for (int i = 0; i < 5; ++i) sample.push_back(clock.run(1).ns);
  return median(sample);
}

TEST(DriftTest, ASteadyDeviceStaysAtOne) {
  int at_one = 0;
  constexpr int kSeeds = 200;
  for (int seed = 0; seed < kSeeds; ++seed) {
    NoisyClock clock(Noise::kJitter, static_cast<std::uint64_t>(seed));
    Drift drift;
    for (int i = 0; i < 30; ++i) drift.add(reference_reading(clock));
    at_one += drift.level() == 1 && !drift.slowdown() ? 1 : 0;
  }
  // The limit compares medians of three readings with four standard deviations of one reading.
  EXPECT_GE(at_one, kSeeds * 99 / 100);
}

TEST(DriftTest, ASlowDriftIsMeasured) {
  for (int seed = 0; seed < 50; ++seed) {
    NoisyClock clock(Noise::kDrift, static_cast<std::uint64_t>(seed));
    Drift drift;
    while (clock.now() < 200) drift.add(reference_reading(clock));
    // Median of the last three readings over that of the first three.
    const double expected = (1 + 0.2 * 192 / 300) / (1 + 0.2 * 8 / 300);
    ASSERT_TRUE(drift.slowdown());
    EXPECT_NEAR(*drift.slowdown(), expected, 0.02);
    EXPECT_EQ(*drift.slowdown(), drift.level());
  }
}

TEST(DriftTest, OneDisturbedReadingChangesNothing) {
  Drift drift;
  for (int i = 0; i < 6; ++i) drift.add(i % 2 == 0 ? 100 : 101);
  EXPECT_TRUE(drift.moved(150));
  drift.add(150);
  EXPECT_EQ(drift.level(), 1);
  drift.add(150);
  EXPECT_NEAR(drift.level(), 1.5, 0.01) << "two of three readings are slow";
}

TEST(DriftTest, TooFewReadingsGiveNoDrift) {
  Drift drift;
  EXPECT_EQ(drift.level(), 1);
  EXPECT_FALSE(drift.moved(1));
  for (const double ns : {100.0, 120.0, 140.0}) drift.add(ns);
  EXPECT_EQ(drift.level(), 1);
  EXPECT_FALSE(drift.slowdown());
}

// Candidates of a search are timed minutes apart. The best of 24 comes last, after the device has
// slowed down by more than its lead.
TEST(DriftTest, DividingByTheDriftMakesAWholeSearchComparable) {
  constexpr int kSeeds = 200, kCandidates = 24;
  int raw_right = 0, levelled_right = 0;
  for (int seed = 0; seed < kSeeds; ++seed) {
    NoisyClock clock(Noise::kDrift, static_cast<std::uint64_t>(seed));
    Drift drift;
    for (int i = 0; i < 3; ++i) drift.add(reference_reading(clock));
    std::vector<double> raw, levelled;
    for (int i = 0; i < kCandidates; ++i) {
      if (i % 2 == 0) drift.add(reference_reading(clock));
      const double truth = i + 1 == kCandidates ? 1 : 1.05;
      const double ns =
          median(std::vector{clock.run(truth).ns, clock.run(truth).ns, clock.run(truth).ns});
      raw.push_back(ns);
      levelled.push_back(ns / drift.level());
    }
    // The best candidate reaches the finals when at most three are faster.
    const auto finalist = [](const std::vector<double>& ns) {
      return std::ranges::count_if(ns, [&](double x) { return x < ns.back(); }) < 4;
    };
    raw_right += finalist(raw) ? 1 : 0;
    levelled_right += finalist(levelled) ? 1 : 0;
  }
  EXPECT_LE(raw_right, kSeeds / 20) << "the drift is too small for this test";
  EXPECT_GE(levelled_right, kSeeds * 98 / 100);
}

}  // namespace
}  // namespace rooftile
