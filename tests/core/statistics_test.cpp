#include "core/numbers/statistics.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

#include "core/error.h"

namespace rooftile {
namespace {

RC_GTEST_PROP(Median, HalvesTheSampleWhateverItsOrder, (std::vector<int> values)) {
  RC_PRE(!values.empty());
  std::vector<double> sample(values.begin(), values.end());
  const double middle = median(sample);
  const auto below = std::ranges::count_if(sample, [&](double x) { return x < middle; });
  const auto above = std::ranges::count_if(sample, [&](double x) { return x > middle; });
  RC_ASSERT(2 * below <= static_cast<std::ptrdiff_t>(sample.size()));
  RC_ASSERT(2 * above <= static_cast<std::ptrdiff_t>(sample.size()));
  std::ranges::reverse(sample);
  RC_ASSERT(median(sample) == middle);
}

TEST(Median, OfAnEvenCountIsTheMean) {
  EXPECT_EQ(median(std::vector{4.0, 1.0, 9.0, 2.0}), 3.0);
  EXPECT_EQ(median(std::vector{7.0}), 7.0);
}

TEST(Median, AbsoluteDeviationIgnoresAnOutlier) {
  EXPECT_EQ(median_absolute_deviation(std::vector{10.0, 12.0, 11.0, 9.0, 1e9}), 1.0);
}

TEST(Statistics, AnEmptySampleHasNoStatistics) {
  const std::vector<double> none;
  EXPECT_THROW(median(none), Error);
  EXPECT_THROW(median_absolute_deviation(none), Error);
  EXPECT_THROW(median_interval(none), Error);
  EXPECT_THROW(geometric_mean(none), Error);
  EXPECT_THROW(summarize(none), Error);
}

/// Times as on real machines: a minimum, a long tail, and occasional load of other programs.
double noisy_ns(std::mt19937& random) {
  const double jitter = std::lognormal_distribution<double>(0.0, 0.7)(random);
  const bool disturbed = std::bernoulli_distribution(0.05)(random);
  return 1000 + 20 * jitter + (disturbed ? 800 * jitter : 0);
}

TEST(MedianInterval, CoversTheTrueMedian95TimesIn100) {
  std::mt19937 random(20240817);
  std::vector<double> reference(200'001);
  for (double& x : reference) x = noisy_ns(random);
  const double truth = median(reference);
  constexpr int kProbes = 4000;
  // 95 % less three standard errors of the observed share.
  const double least = 0.95 - 3 * std::sqrt(0.95 * 0.05 / kProbes);
  for (const std::size_t count : {6u, 7u, 15u, 31u, 100u}) {
    int covered = 0;
    std::vector<double> sample(count);
    for (int trial = 0; trial < kProbes; ++trial) {
      for (double& x : sample) x = noisy_ns(random);
      const Interval interval = median_interval(sample);
      covered += interval.low <= truth && truth <= interval.high;
    }
    EXPECT_GE(covered / static_cast<double>(kProbes), least) << count << " samples";
    // The interval must not be much wider than necessary. Ranks are whole numbers, so that six
    // samples give 96.9 %.
    EXPECT_LE(covered / static_cast<double>(kProbes), 0.99) << count << " samples";
  }
}

TEST(MedianInterval, TakesTheRanksOfTheTable) {
  // Conover's table for p = 1/2 has ranks 2 and 9 for 10 samples, 6 and 15 for 20 samples.
  std::vector<double> sample;
  for (int i = 1; i <= 10; ++i) sample.push_back(i);
  EXPECT_EQ(median_interval(sample).low, 2);
  EXPECT_EQ(median_interval(sample).high, 9);
  for (int i = 11; i <= 20; ++i) sample.push_back(i);
  EXPECT_EQ(median_interval(sample).low, 6);
  EXPECT_EQ(median_interval(sample).high, 15);
}

TEST(MedianInterval, OfFewSamplesIsTheirRange) {
  const Interval interval = median_interval(std::vector{5.0, 3.0, 4.0, 8.0, 6.0});
  EXPECT_EQ(interval.low, 3);
  EXPECT_EQ(interval.high, 8);
}

TEST(MedianInterval, LargeSamplesJoinTheExactOnes) {
  std::vector<double> sample;
  for (int i = 1; i <= 999; ++i) sample.push_back(i);
  const Interval exact = median_interval(sample);
  for (int i = 1000; i <= 1001; ++i) sample.push_back(i);
  const Interval approximate = median_interval(sample);
  EXPECT_NEAR(approximate.low, exact.low, 2);
  EXPECT_NEAR(approximate.high, exact.high, 3);
  EXPECT_NEAR(approximate.low + approximate.high, 1002, 1);
}

TEST(MedianInterval, NarrowsWithTheSample) {
  std::mt19937 random(5);
  std::vector<double> sample;
  const auto width = [&](std::size_t count) {
    while (sample.size() < count) sample.push_back(noisy_ns(random));
    const Interval interval = median_interval(sample);
    return interval.high - interval.low;
  };
  const double few = width(20);
  EXPECT_LT(width(2000), few / 3);
}

TEST(GeometricMean, WeighsRatiosEqually) {
  EXPECT_DOUBLE_EQ(geometric_mean(std::vector{0.5, 2.0}), 1);
  EXPECT_DOUBLE_EQ(geometric_mean(std::vector{8.0, 1.0, 1.0}), 2);
  EXPECT_NEAR(geometric_mean(std::vector<double>(3000, 1e-300)), 1e-300, 1e-310);
}

TEST(GeometricMean, NeedsPositiveValues) {
  EXPECT_THROW(geometric_mean(std::vector{1.0, 0.0}), Error);
  EXPECT_THROW(geometric_mean(std::vector{1.0, -2.0}), Error);
  EXPECT_THROW(geometric_mean(std::vector{1.0, std::nan("")}), Error);
}

TEST(Summary, CombinesMedianMadIntervalAndCount) {
  const std::vector<double> sample = {30, 10, 20, 50, 40, 60, 70};
  const Summary summary = summarize(sample);
  EXPECT_EQ(summary.median_ns, 40);
  EXPECT_EQ(summary.mad_ns, 20);
  EXPECT_EQ(summary.low_ns, median_interval(sample).low);
  EXPECT_EQ(summary.high_ns, median_interval(sample).high);
  EXPECT_EQ(summary.count, 7u);
}

}  // namespace
}  // namespace rooftile
