#include "runtime/model/portfolio.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <span>

namespace rooftile {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr double kNever = std::numeric_limits<double>::infinity();

/// Problem i has sizes i + 1.
MeasuredKernel kernel(const std::vector<double>& ns, int tile_m = 16) {
  MeasuredKernel measured;
  measured.variant.tile_m = tile_m;
  for (std::size_t i = 0; i < ns.size(); ++i) {
    const auto size = static_cast<std::int64_t>(i) + 1;
    measured.times.push_back({.m = size, .n = size, .k = size, .batch = 1, .ns = ns[i]});
  }
  return measured;
}

TEST(TimeTable, HoldsTheProblemsMeasuredWithEveryKernel) {
  std::vector<MeasuredKernel> kernels = {kernel({10, 20, 30, 40}), kernel({5, kNever, 0})};
  const TimeTable table = complete_table(kernels);
  ASSERT_THAT(table.problems, SizeIs(2));
  EXPECT_EQ(table.problems[0].ns, 5);
  EXPECT_EQ(table.problems[1].ns, 20);
  EXPECT_THAT(table.ns[0], ElementsAre(10, 20));
  EXPECT_THAT(table.ns[1], ElementsAre(5, kNever));
}

TEST(TimeTable, SkipsProblemsWithoutALegalKernelAndInvalidTimes) {
  EXPECT_THAT(complete_table(std::vector{kernel({kNever, 3})}).problems, SizeIs(1));
  EXPECT_THAT(complete_table(std::vector{kernel({std::nan(""), -1, 0})}).problems, IsEmpty());
  EXPECT_THAT(complete_table({}).problems, IsEmpty());
}

TEST(Portfolio, TakesWhatLowersTheExpectedRegretMostFirst) {
  const std::vector<MeasuredKernel> kernels = {kernel({10, 10, 30, 30}), kernel({12, 12, 12, 12}),
                                               kernel({30, 30, 10, 10}), kernel({11, 11, 40, 40})};
  // The generally good kernel comes first, then the two specialised ones. The fourth kernel is
  // never the best of those available.
  EXPECT_THAT(choose_portfolio(complete_table(kernels), 16), ElementsAre(1, 0, 2));
  EXPECT_THAT(choose_portfolio(complete_table(kernels), 2), ElementsAre(1, 0));
}

TEST(Portfolio, IsEmptyWithoutProblemsAndHasOneKernelWhereThatIsBestEverywhere) {
  EXPECT_THAT(choose_portfolio({}, 16), IsEmpty());
  const std::vector<MeasuredKernel> kernels = {kernel({20, 20}), kernel({10, 10})};
  EXPECT_THAT(choose_portfolio(complete_table(kernels), 16), ElementsAre(1));
  EXPECT_THAT(choose_portfolio(complete_table(std::vector{kernel({7})}), 16), ElementsAre(0));
}

TEST(Portfolio, IgnoresGainsWithinTheNoise) {
  const std::vector<MeasuredKernel> kernels = {kernel({1000, 1000}), kernel({999, 1001})};
  EXPECT_THAT(choose_portfolio(complete_table(kernels), 16), SizeIs(1));
}

TEST(Regret, NegativeRegretsAreKept) {
  const Regret regret = summarize_regret({-0.1, -0.2, -0.3});
  EXPECT_EQ(regret.median, -0.2);
  EXPECT_NEAR(regret.mean, -0.2, 1e-12);
  EXPECT_EQ(regret.worst_decile, -0.1);
  EXPECT_EQ(regret.worst, -0.1);
}

TEST(Regret, IsSummarizedByMedianWithIntervalAndDecile) {
  EXPECT_EQ(summarize_regret({}).problems, 0u);
  const Regret regret =
      summarize_regret({0.09, 0.1, 0.2, 0.0, 0.01, 0.02, 0.03, 0.04, 0.05, 0.06, 0.07, 0.08});
  EXPECT_EQ(regret.problems, 12u);
  EXPECT_NEAR(regret.median, 0.055, 1e-12);
  EXPECT_EQ(regret.median_low, 0.02);  // the third and the tenth of twelve
  EXPECT_EQ(regret.median_high, 0.09);
  EXPECT_NEAR(regret.mean, 0.75 / 12, 1e-12);
  // Two of the twelve are at least 0.1; one alone would be less than a tenth of them.
  EXPECT_EQ(regret.worst_decile, 0.1);
  EXPECT_EQ(regret.worst, 0.2);
}

// Most choices have no regret and a few have a large one, so that the mean is typical of no
// problem.
TEST(Regret, OneBadChoiceDoesNotMoveTheMedian) {
  const Regret regret = summarize_regret({0.01, 0.01, 0.01, 0.01, 0.01, 0.01, 0.01, 0.01, 5});
  EXPECT_EQ(regret.median, 0.01);
  EXPECT_EQ(regret.median_high, 0.01);
}

TEST(Regret, FewProblemsHaveNoEstimate) {
  EXPECT_FALSE(summarize_regret({0, 0, 0, 0, 0}).has_median());
  EXPECT_TRUE(summarize_regret({0, 0, 0, 0, 0, 0}).has_median());
  EXPECT_FALSE(summarize_regret(std::vector(9, 0.0)).has_decile());
  EXPECT_TRUE(summarize_regret(std::vector(10, 0.0)).has_decile());
}

DeviceRates device() {
  return {.dispatch_ns = 1000, .workgroup_ns = 10, .fma_gflops = 100, .compute_units = 4};
}

TEST(CrossValidation, OneKernelHasNoRegretAndOneProblemGivesNoEstimate) {
  const CrossValidation one_kernel = cross_validate({}, device(), std::vector{kernel({9, 8, 7})});
  EXPECT_THAT(one_kernel.selector, SizeIs(3));
  EXPECT_THAT(one_kernel.selector, Each(0));
  EXPECT_THAT(one_kernel.nearest, Each(0));
  EXPECT_THAT(cross_validate({}, device(), std::vector{kernel({9}), kernel({8}, 32)}).selector,
              IsEmpty());
  EXPECT_THAT(cross_validate({}, device(), {}).selector, IsEmpty());
}

// A kernel that is the best on one problem by accident cannot be chosen for it: only that
// problem's own times, which are left out, show it.
TEST(CrossValidation, AProblemIsExcludedFromItsOwnPrediction) {
  std::vector<double> steady(12, 1000.0), erratic(12, 3000.0);
  erratic[5] = 500;
  const CrossValidation validation =
      cross_validate({}, device(), std::vector{kernel(steady), kernel(erratic, 32)});
  ASSERT_THAT(validation.selector, SizeIs(12));
  EXPECT_NEAR(validation.selector[5], 1, 1e-12);
  EXPECT_NEAR(validation.nearest[5], 1, 1e-12);
  // The best kernel of problem 5 is wrong for its neighbour 4; the selector's choice is right.
  EXPECT_NEAR(validation.nearest[4], 2, 1e-12);
  EXPECT_EQ(validation.selector[4], 0);
}

// With its own times, the erratic kernel would be chosen for the distant problem.
TEST(CrossValidation, ADistantProblemIsExcludedFromItsOwnPrediction) {
  std::vector<double> erratic(12, 3000.0);
  erratic[11] = 300;
  std::vector<MeasuredKernel> kernels = {kernel(std::vector(12, 1000.0)), kernel(erratic, 32)};
  for (MeasuredKernel& measured : kernels) {
    MeasuredTime& far = measured.times[11];
    far = {.m = 1, .n = 1, .k = 1 << 20, .batch = 1, .ns = far.ns};
  }
  const CrossValidation validation = cross_validate({}, device(), kernels);
  EXPECT_NEAR(validation.selector[11], 1000.0 / 300 - 1, 1e-9);
}

// Two kernels take the same time, and every measurement is a tenth too long or too short. The
// shorter of two such times is too short by that noise, so that the chosen kernel would always
// look worse.
TEST(CrossValidation, NoiseAloneGivesNoRegret) {
  const auto noisy = [](std::span<const std::array<double, 2>> half_ns, int tile_m) {
    MeasuredKernel measured = kernel(std::vector(half_ns.size(), 1000.0), tile_m);
    for (std::size_t i = 0; i < half_ns.size(); ++i) {
      measured.times[i].ns = std::ranges::min(half_ns[i]);
      measured.times[i].half_ns = half_ns[i];
    }
    return measured;
  };
  std::vector<std::array<double, 2>> first, second;
  for (unsigned signs = 0; signs < 16; ++signs) {
    const auto ns = [&](unsigned bit) { return (signs >> bit & 1) != 0 ? 1100.0 : 900.0; };
    first.push_back({ns(0), ns(1)});
    second.push_back({ns(2), ns(3)});
  }
  const CrossValidation validation =
      cross_validate({}, device(), std::vector{noisy(first, 16), noisy(second, 32)});
  // A random choice between two kernels loses 6 % on average against the shorter of both times.
  EXPECT_LT(summarize_regret(validation.selector).mean, 0.02);
  EXPECT_LT(*std::ranges::min_element(validation.selector), 0);
}

// The halves of the samples disagree about the fastest kernel. Each half in turn determines it, and
// the other half gives its time.
TEST(CrossValidation, OneHalfOfTheSamplesChoosesTheFastestAndTheOtherTimesIt) {
  std::vector<MeasuredKernel> kernels = {kernel({1000, 1000, 1000, 1000}),
                                         kernel({800, 3000, 3000, 3000}, 32)};
  kernels[0].times[0].half_ns = {1000, 1000};
  kernels[1].times[0].half_ns = {800, 1250};
  // The first half determines the second kernel, for 1000/1250; the second half determines the
  // first kernel, without regret.
  EXPECT_NEAR(cross_validate({}, device(), kernels).selector[0], (1000.0 / 1250 - 1) / 2, 1e-12);
}

TEST(CrossValidation, RivalsAreComparedAndNeverChosen) {
  const std::vector<MeasuredKernel> kernels = {kernel({1000, 1000, 1000})},
                                    rivals = {kernel({500, 800, 2000}, 32)};
  const CrossValidation validation = cross_validate({}, device(), kernels, rivals);
  EXPECT_THAT(validation.selector, ElementsAre(1, 0.25, 0));
}

TEST(CrossValidation, AKernelIsNotChosenWhereItCannotRun) {
  const std::vector<MeasuredKernel> kernels = {kernel({10, 10, kNever, 10, 10}),
                                               kernel({30, 30, 30, 30, 30}, 32)};
  EXPECT_THAT(cross_validate({}, device(), kernels).selector, Each(0));
}

}  // namespace
}  // namespace rooftile
