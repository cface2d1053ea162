// The sign test that decides whether a stored winner is replaced, with injected noise.
#include "tuner/measure/paired_comparison.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <deque>

#include "noise_model.h"

namespace rooftile {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

bool never() { return false; }

/// Compares kernels with the true times 1 and ratio on one noisy clock.
PairedVerdict verdict(Noise noise, double ratio, std::uint64_t seed) {
  NoisyClock clock(noise, seed);
  return compare_in_pairs([&] { return std::optional(clock.run(1).ns); },
                          [&] { return std::optional(clock.run(ratio).ns); }, never)
      .verdict;
}

double share_of_faster(Noise noise, double ratio) {
  constexpr int kSeeds = 4000;
  int faster = 0;
  for (std::uint64_t seed = 1; seed <= kSeeds; ++seed)
    if (verdict(noise, ratio, seed) == PairedVerdict::kFaster) ++faster;
  return static_cast<double>(faster) / kSeeds;
}

constexpr Noise kAllNoise[] = {Noise::kJitter, Noise::kSpikes, Noise::kLevels, Noise::kDrift,
                               Noise::kBursts};

TEST(PairedComparison, PairsInWhichTheChallengerIsFasterAreCounted) {
  std::deque<double> stored = {10, 10, 10, 10, 10}, challenger = {9, 11, 10, 9, 9};
  const auto next = [](std::deque<double>& times) {
    return [&times]() -> std::optional<double> {
      if (times.empty()) return std::nullopt;
      const double ns = times.front();
      times.pop_front();
      return ns;
    };
  };
  const PairedComparison comparison = compare_in_pairs(next(stored), next(challenger), never);
  EXPECT_EQ(comparison.verdict, PairedVerdict::kUndecided);
  EXPECT_EQ(comparison.stored_ns.size(), 5u);
  EXPECT_EQ(comparison.faster_pairs(), 3u) << "equal times count for the stored kernel";
}

// Probabilities of a fair coin: 3 of 3 heads in 1 of 8 throws, at least 4 of 5 in 6 of 32.
TEST(PairedComparison, ConfidenceIsThatOfASignTest) {
  EXPECT_EQ(sign_confidence(0, 0), std::nullopt);
  EXPECT_DOUBLE_EQ(sign_confidence(0, 4).value(), 0);
  EXPECT_DOUBLE_EQ(sign_confidence(3, 3).value(), 1 - 1.0 / 8);
  EXPECT_DOUBLE_EQ(sign_confidence(4, 5).value(), 1 - 6.0 / 32);
  EXPECT_DOUBLE_EQ(sign_confidence(6, 6).value(), 1 - 1.0 / 64);
}

TEST(PairedComparison, ASlowerChallengerNeverWins) {
  for (const Noise noise : kAllNoise)
    EXPECT_EQ(share_of_faster(noise, 1.25), 0) << static_cast<int>(noise);
}

TEST(PairedComparison, AnEqualChallengerWinsNoMoreOftenThanDocumented) {
  // 3 %, and four standard deviations of 4,000 comparisons.
  for (const Noise noise : kAllNoise)
    EXPECT_LT(share_of_faster(noise, 1), 0.04) << static_cast<int>(noise);
}

TEST(PairedComparison, AFasterChallengerWins) {
  for (const Noise noise : kAllNoise)
    EXPECT_GT(share_of_faster(noise, 0.9), 0.98) << static_cast<int>(noise);
}

/// The i-th elements are a pair; the comparison leaves pairs unused that it does not need.
PairedComparison compared(std::deque<double> stored, std::deque<double> challenger) {
  const auto next = [](std::deque<double>& times) -> std::optional<double> {
    if (times.empty()) return std::nullopt;
    const double ns = times.front();
    times.pop_front();
    return ns;
  };
  return compare_in_pairs([&] { return next(stored); }, [&] { return next(challenger); }, never);
}

TEST(PairedComparison, EndsWhenItIsDecided) {
  const std::deque<double> ones(20, 1), twos(20, 2);
  EXPECT_EQ(compared(twos, ones).verdict, PairedVerdict::kFaster);
  EXPECT_THAT(compared(twos, ones).stored_ns, SizeIs(kFirstPairs));
  EXPECT_EQ(compared(ones, twos).verdict, PairedVerdict::kNotFaster);
  EXPECT_THAT(compared(ones, twos).challenger_ns, ElementsAre(2, 2, 2));
  EXPECT_EQ(compared(ones, ones).verdict, PairedVerdict::kNotFaster)
      << "an equal kernel is not faster";
}

TEST(PairedComparison, TwoLossesOfTwelveAreAllowed) {
  const std::deque<double> stored(12, 2);
  const PairedComparison two = compared(stored, {1, 3, 1, 1, 1, 1, 1, 3, 1, 1, 1, 1});
  EXPECT_EQ(two.verdict, PairedVerdict::kFaster);
  EXPECT_THAT(two.stored_ns, SizeIs(kMostPairs));
  const PairedComparison three = compared(stored, {1, 3, 1, 1, 1, 1, 1, 3, 1, 1, 1, 3});
  EXPECT_EQ(three.verdict, PairedVerdict::kNotFaster);
}

TEST(PairedComparison, WithoutEnoughPairsNothingIsDecided) {
  const PairedComparison missing = compared({2, 2, 2}, {1, 1, 1});
  EXPECT_EQ(missing.verdict, PairedVerdict::kUndecided);
  EXPECT_THAT(missing.challenger_ns, ElementsAre(1, 1, 1));
  int asked = 0;
  const auto one = [&] {
    ++asked;
    return std::optional(1.0);
  };
  const PairedComparison stopped = compare_in_pairs(one, one, [] { return true; });
  EXPECT_EQ(stopped.verdict, PairedVerdict::kUndecided);
  EXPECT_THAT(stopped.stored_ns, IsEmpty());
  EXPECT_EQ(asked, 0);
}

TEST(PairedComparison, TheOrderWithinPairsAlternates) {
  std::string order;
  const auto timed = [&](char name) {
    return [&order, name] {
      order += name;
      return std::optional(1.0);
    };
  };
  compare_in_pairs(timed('s'), timed('c'), never);
  EXPECT_EQ(order, "sccssc");
}

}  // namespace
}  // namespace rooftile
