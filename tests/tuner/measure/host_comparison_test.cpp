// Comparisons of a kernel with the host's BLAS on busy machines. Rounds are injected; the test
// causes no load.
#include "tuner/host_comparison.h"

#include <gtest/gtest.h>

#include <vector>

namespace rooftile {
namespace {

/// The host takes 100 ns and the kernel 1000, so that the kernel is at 0.1x. In `busy` rounds the
/// host has half of its processors and takes slowdown times as long; the kernel's time is
/// unchanged.
std::vector<HostRound> rounds(int busy, double slowdown) {
  std::vector<HostRound> all(7, {.host_ns = 100, .kernel_ns = 1000, .wait_share = 0.02});
  for (int i = 0; i < busy; ++i)
    all[static_cast<std::size_t>(i)] = {
        .host_ns = slowdown * 100, .kernel_ns = 1000, .wait_share = 0.5};
  return all;
}

TEST(HostComparisonTest, AQuietMachineIsNotContended) {
  const HostComparison comparison = host_comparison(rounds(0, 1), 100);
  EXPECT_DOUBLE_EQ(comparison.ratio, 0.1);
  EXPECT_FALSE(comparison.contended);
}

TEST(HostComparisonTest, AFewBusyRoundsAreDiscarded) {
  const HostComparison comparison = host_comparison(rounds(3, 80), 100);
  EXPECT_DOUBLE_EQ(comparison.ratio, 0.1);
  EXPECT_FALSE(comparison.contended);
}

TEST(HostComparisonTest, AMachineThatIsBusyThroughoutIsContended) {
  for (const int busy : {4, 7}) {
    const HostComparison comparison = host_comparison(rounds(busy, 80), std::nullopt);
    EXPECT_TRUE(comparison.contended) << busy;
    EXPECT_DOUBLE_EQ(comparison.ratio, 8) << "the ratio is that of all rounds";
  }
}

// The threads get all processors and are slow nevertheless, because a hypervisor uses the
// processors.
TEST(HostComparisonTest, AHostThatIsFarSlowerThanCalibratedIsContended) {
  std::vector<HostRound> slow = rounds(0, 1);
  for (HostRound& round : slow) round.host_ns = 250;
  EXPECT_TRUE(host_comparison(slow, 100).contended);
  EXPECT_FALSE(host_comparison(slow, 130).contended)
      << "the difference is within the model's error";
  EXPECT_FALSE(host_comparison(slow, std::nullopt).contended) << "there is no prediction";
}

TEST(HostComparisonTest, OneRoundIsEnoughAndNoneIsNoComparison) {
  EXPECT_FALSE(host_comparison({rounds(0, 1).data(), 1}, 100).contended);
  EXPECT_TRUE(host_comparison({rounds(1, 80).data(), 1}, 100).contended);
  EXPECT_EQ(host_comparison({}, 100).ratio, 0);
  EXPECT_FALSE(host_comparison({}, 100).contended);
}

TEST(HostComparisonTest, HostAndKernelAreTimedInTurns) {
  const Problem p = packed_problem(3, 4, 5);
  int timed = 0, asked = 0;
  const auto time_kernel = [&] {
    ++timed;
    return std::optional(1000.0);
  };
  EXPECT_GT(compare_with_host(p, std::nullopt, time_kernel, [] { return false; }).ratio, 0);
  EXPECT_EQ(timed, kMostHostRounds);
  timed = 0;
  // It is called before the operands are made, and before each round.
  EXPECT_GT(compare_with_host(p, std::nullopt, time_kernel, [&] { return ++asked > 3; }).ratio, 0);
  EXPECT_EQ(timed, 2);
}

// Under a sanitizer it shows a host that reads more of the epilogue's operands than there is.
TEST(HostComparisonTest, TheHostMakesTheEpilogueOfEveryType) {
  for (const char* types : {"f32", "f64", "f16"}) {
    Problem p = packed_problem(30, 40, 5, Transpose::kNo, Transpose::kNo, 1, parse_types(types));
    p.epilogue = parse_epilogue("row_scale+bias_column+residual");
    EXPECT_GT(compare_with_host(
                  p, std::nullopt, [] { return std::optional(1000.0); }, [] { return false; })
                  .ratio,
              0);
  }
}

TEST(HostComparisonTest, WithoutTimeOrWithoutAKernelThereIsNoComparison) {
  const Problem p = packed_problem(3, 4, 5);
  const auto fails = [] { return std::optional<double>(); };
  EXPECT_EQ(compare_with_host(p, std::nullopt, fails, [] { return false; }).ratio, 0);
  EXPECT_EQ(compare_with_host(p, std::nullopt, fails, [] { return true; }).ratio, 0);
}

}  // namespace
}  // namespace rooftile
