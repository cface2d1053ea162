// Division of a call over devices and the host by their predicted times.
#include "runtime/model/split.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "tests/model/random_inputs.h"

namespace rooftile {
namespace {

using ::testing::DoubleNear;

constexpr int kShares = 16;
constexpr double kInfinity = std::numeric_limits<double>::infinity();
/// The shortest time is searched to a thousandth, and a grain is what cannot be divided.
constexpr double kTolerance = 0.002;

/// A party that takes fixed_ns and whole_ns for all of the call.
Party party(double fixed_ns, double whole_ns, double processors = 0, int resource = 0) {
  Party made = {.processors = processors, .resource = resource};
  for (int i = 1; i <= kShares; ++i) made.share_ns.push_back(fixed_ns + whole_ns * i / kShares);
  return made;
}

std::vector<std::size_t> members(const SplitPlan& plan) {
  std::vector<std::size_t> all;
  for (const PlannedShare& share : plan.shares) all.push_back(share.party);
  return all;
}

TEST(Split, SharesFollowTheRates) {
  const std::vector<Party> parties = {party(0, 1e6, 0, 0), party(0, 3e6, 0, 1)};
  const SplitPlan plan = best_split(parties, {}, 4000, 1);
  ASSERT_EQ(plan.shares.size(), 2u);
  EXPECT_EQ(plan.shares[0].begin, 0);
  EXPECT_NEAR(static_cast<double>(plan.shares[0].size), 3000, 8);
  EXPECT_EQ(plan.shares[1].begin, plan.shares[0].size);
  EXPECT_THAT(plan.ns, DoubleNear(0.75e6, kTolerance * 0.75e6));
}

TEST(Split, AFixedCostKeepsAPartyFromShortCalls) {
  const std::vector<Party> slow_start = {party(0, 1e5, 0, 0), party(1e5, 1e5, 0, 1)};
  EXPECT_THAT(members(best_split(slow_start, {}, 1000, 1)), ::testing::ElementsAre(0));
  // Of a call that is ten times as long it computes what is left after that.
  const std::vector<Party> longer = {party(0, 1e6, 0, 0), party(1e5, 1e6, 0, 1)};
  const SplitPlan plan = best_split(longer, {}, 1000, 1);
  ASSERT_EQ(plan.shares.size(), 2u);
  EXPECT_NEAR(static_cast<double>(plan.shares[0].size), 550, 3);
  EXPECT_THAT(plan.ns, DoubleNear(5.5e5, kTolerance * 5.5e5));
}

TEST(Split, StartingThreadsCounts) {
  const std::vector<Party> parties = {party(0, 1e5, 0, 0), party(0, 1e5, 0, 1)};
  EXPECT_EQ(best_split(parties, {.thread_ns = 4e4}, 1000, 1).shares.size(), 2u);
  EXPECT_EQ(best_split(parties, {.thread_ns = 6e4}, 1000, 1).shares.size(), 1u);
}

TEST(Split, PartiesOnTheSameProcessorsDoNotAddUp) {
  // A software device and the host's BLAS, each on both of two processors.
  const std::vector<Party> parties = {party(0, 2e6, 2, 0), party(0, 1e6, 2, 1)};
  const SharedProcessors shared = {.count = 2};
  EXPECT_THAT(members(best_split(parties, shared, 4096, 64)), ::testing::ElementsAre(1));
  // Each would get half of the processors: 1 / (1/2 + 1) of a second at half the speed.
  const SplitPlan together = best_split(parties, shared, 4096, 1, 2);
  EXPECT_THAT(together.ns, DoubleNear(2 * 2e6 / 3, 2 * kTolerance * 2e6 / 3));
  // The same two on four processors add up.
  EXPECT_EQ(members(best_split(parties, {.count = 4}, 4096, 64)).size(), 2u);
}

TEST(Split, ProcessorsThatAreSlowerWhenAllWorkGainLess) {
  const std::vector<Party> parties = {party(0, 1e6, 1, 0), party(0, 1e6, 1, 1)};
  const SplitPlan full = best_split(parties, {.count = 2}, 4096, 1),
                  half = best_split(parties, {.count = 2, .busy_speed = 0.6}, 4096, 1);
  EXPECT_THAT(full.ns, DoubleNear(0.5e6, kTolerance * 0.5e6));
  EXPECT_THAT(half.ns, DoubleNear(0.5e6 / 0.6, kTolerance * 1e6));
  EXPECT_EQ(best_split(parties, {.count = 2, .busy_speed = 0.5}, 4096, 1).shares.size(), 1u);
}

TEST(Split, TheHostUsesFewerThreadsBesideASoftwareDevice) {
  // The host on both processors, the host on one, and a software device on one.
  const std::vector<Party> parties = {party(0, 1.8e6, 2, 0), party(0, 2e6, 1, 0),
                                      party(0, 2e6, 1, 1)};
  EXPECT_THAT(members(best_split(parties, {.count = 2}, 4096, 64)), ::testing::ElementsAre(1, 2));
  EXPECT_THAT(members(best_split(parties, {.count = 2}, 4096, 64, 3)), ::testing::IsEmpty())
      << "one resource twice";
}

TEST(Split, ADeviceIsSlowedForTheTimeOfItsCopiesOnly) {
  const std::vector<Party> parties = {party(0, 1e6, 0.2, 0), party(0, 1e6, 4, 1)};
  const std::vector<double> slower = slowdowns(parties, {.count = 4});
  EXPECT_NEAR(slower[0], 1 + 0.05 * 0.2, 1e-12);
  EXPECT_NEAR(slower[1], 1.05, 1e-12);
}

TEST(Split, APartTakesItsShareOfTheKernelsTime) {
  const Variant kernel = {.tile_m = 64, .tile_n = 64};
  const auto part_ns = [&](std::int64_t rows, double units) {
    return part_kernel_ns(1e6, packed_problem(1024, 128, 50), packed_problem(rows, 128, 50), kernel,
                          units);
  };
  EXPECT_NEAR(part_ns(512, 2), 5e5, 1);
  // 32 blocks are 8 rounds of four, 6 blocks are two; 65 rows take as long as 128.
  EXPECT_NEAR(part_ns(192, 4), 2e6 / 8, 1);
  EXPECT_NEAR(part_ns(65, 2), part_ns(128, 2), 1);
}

TEST(Split, MemoryLimitsAShare) {
  Party small = party(0, 1e5, 0, 0);
  for (int i = 4; i < kShares; ++i) small.share_ns[static_cast<std::size_t>(i)] = kInfinity;
  const std::vector<Party> both = {small, party(0, 1e6, 0, 1)};
  const SplitPlan plan = best_split(both, {}, 1600, 1);
  ASSERT_EQ(plan.shares.size(), 2u);
  EXPECT_EQ(plan.shares[0].size, 400);
  const std::vector<Party> alone = {small};
  EXPECT_THAT(best_split(alone, {}, 1600, 1).shares, ::testing::IsEmpty());
}

TEST(Split, NothingIsPlannedWithoutPartiesOrLines) {
  EXPECT_THAT(best_split({}, {}, 100, 1).shares, ::testing::IsEmpty());
  const std::vector<Party> unable = {{}, {.share_ns = {kInfinity, kInfinity}, .resource = 1}};
  EXPECT_THAT(best_split(unable, {}, 100, 1).shares, ::testing::IsEmpty());
  const std::vector<Party> able = {party(0, 1, 0, 0)};
  EXPECT_THAT(best_split(able, {}, 0, 1).shares, ::testing::IsEmpty());
}

std::vector<Party> random_parties() {
  std::vector<Party> parties;
  for (int i = *rc::gen::inRange(1, 5); i > 0; --i) {
    parties.push_back(party(log_uniform(1, 1e6), log_uniform(1e3, 1e7), uniform(0, 4), i));
    for (double& ns : parties.back().share_ns) ns *= uniform(1, 1.2);  // Waves and edges.
  }
  return parties;
}

RC_GTEST_PROP(SplitProperty, RangesCoverEverythingOnce, ()) {
  const std::vector<Party> parties = random_parties();
  const SharedProcessors shared = {.count = std::floor(uniform(1, 8)),
                                   .busy_speed = uniform(0.3, 1),
                                   .thread_ns = log_uniform(1, 1e5)};
  const std::int64_t size = random_size(), grain = *rc::gen::element(1, 64);
  const SplitPlan plan = best_split(parties, shared, size, grain);
  RC_ASSERT(!plan.shares.empty());
  std::int64_t end = 0;
  double longest = 0;
  for (const PlannedShare& share : plan.shares) {
    RC_ASSERT(share.begin == end);
    RC_ASSERT(share.begin % grain == 0);
    RC_ASSERT(share.size > 0);
    end += share.size;
    longest = std::max(longest, share.ns);
  }
  RC_ASSERT(end == size);
  RC_ASSERT(plan.ns >= longest);
  // No party alone is predicted to be faster.
  for (const Party& one : parties)
    RC_ASSERT(plan.ns <= *std::max_element(one.share_ns.begin(), one.share_ns.end()) * 1.0000001);
}

RC_GTEST_PROP(SplitProperty, NoOtherCutOfTwoIsFaster, ()) {
  std::vector<Party> parties = {party(log_uniform(1, 1e5), log_uniform(1e3, 1e7), 0, 0),
                                party(log_uniform(1, 1e5), log_uniform(1e3, 1e7), 0, 1)};
  constexpr std::int64_t kGrain = 64;
  const std::int64_t grains = *rc::gen::inRange(2, 60), size = grains * kGrain;
  const SplitPlan plan = best_split(parties, {}, size, kGrain);
  const auto line_ns = [&](const Party& p, std::int64_t lines) {  // The parties are straight lines.
    const double whole = p.share_ns.back(), rise = (whole - p.share_ns.front()) / (kShares - 1);
    return whole - rise * kShares * (1 - static_cast<double>(lines) / static_cast<double>(size));
  };
  double best = std::min(parties[0].share_ns.back(), parties[1].share_ns.back());
  for (std::int64_t i = 1; i < grains; ++i)
    best = std::min(
        best, std::max(line_ns(parties[0], i * kGrain), line_ns(parties[1], size - i * kGrain)));
  RC_ASSERT(std::abs(plan.ns - best) <= 1e-6 * best);
}

}  // namespace
}  // namespace rooftile
