// The sign test that decides whether a stored winner is replaced, with injected noise.
#include "tuner/measure/paired_comparison.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <deque>
#include <random>
#include <string>

#include "noise_model.h"

namespace rooftile {
namespace {

using ::testing::IsEmpty;
using ::testing::SizeIs;

using Times = std::deque<PairTime>;

/// The i-th elements are a pair; the comparison leaves pairs unused that it does not need.
PairedComparison compared(Times stored, Times challenger) {
  const auto next = [](Times& times) -> std::optional<PairTime> {
    if (times.empty()) return std::nullopt;
    const PairTime time = times.front();
    times.pop_front();
    return time;
  };
  return compare_in_pairs([&] { return next(stored); }, [&] { return next(challenger); },
                          [] { return false; });
}

Times times(std::initializer_list<double> kernel_ns) {
  Times times;
  for (const double ns : kernel_ns) times.push_back({.kernel_ns = ns});
  return times;
}

/// Times that the stored kernel's time 2 makes wins ('w') and losses ('l') of the challenger.
Times challenger_times(const std::string& outcomes) {
  Times times;
  for (const char c : outcomes) times.push_back({.kernel_ns = c == 'w' ? 1.0 : 3.0});
  return times;
}

PairedComparison compared(const std::string& outcomes) {
  return compared(Times(outcomes.size(), {.kernel_ns = 2}), challenger_times(outcomes));
}

TEST(PairedComparison, PairsInWhichTheChallengersTotalTimeIsShorterAreCounted) {
  Times packed = times({9, 11, 10, 9, 9});
  packed[4].pack_ns = 2;
  const PairedComparison comparison = compared(times({10, 10, 10, 10, 10}), packed);
  EXPECT_EQ(comparison.verdict, PairedVerdict::kUndecided);
  EXPECT_THAT(comparison.stored, SizeIs(5));
  EXPECT_EQ(comparison.faster_pairs(), 2u) << "equal times count for the stored kernel";
}

bool never() { return false; }

/// Compares kernels with the true times 1 and ratio on one noisy clock.
PairedVerdict verdict(Noise noise, double ratio, std::uint64_t seed) {
  NoisyClock clock(noise, seed);
  const auto timed = [&](double truth) {
    return [&clock, truth] { return std::optional(PairTime{.kernel_ns = clock.run(truth).ns}); };
  };
  return compare_in_pairs(timed(1), timed(ratio), never).verdict;
}

double share_of_faster(Noise noise, double ratio) {
  constexpr int kSeries = 4000;
  int faster = 0;
  for (std::uint64_t seed = 1; seed <= kSeries; ++seed)
    if (verdict(noise, ratio, seed) == PairedVerdict::kFaster) ++faster;
  return static_cast<double>(faster) / kSeries;
}

constexpr Noise kAllNoise[] = {Noise::kJitter, Noise::kSpikes, Noise::kLevels, Noise::kDrift,
                               Noise::kBursts};

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

// A virtual machine that halves its speed for a time not much longer than a sample: a kernel that
// takes 0.8 of the other's time loses the 0.3 x 0.7 of the pairs in which only its own sample
// stalls, and passes a test of 79 % of wins in 0.89 of all comparisons.
TEST(PairedComparison, AFasterChallengerWinsOnAMachineThatOftenStalls) {
  constexpr int kSeries = 4000;
  const auto share_of_faster = [](double ratio) {
    int faster = 0;
    for (std::uint64_t seed = 1; seed <= kSeries; ++seed) {
      std::mt19937_64 random(seed);
      std::bernoulli_distribution stalls(0.3);
      std::normal_distribution<double> jitter(1, 0.02);
      const auto timed = [&](double truth) {
        return [&, truth] {
          const double ns = truth * jitter(random) * (stalls(random) ? 2 : 1);
          return std::optional(PairTime{.kernel_ns = ns});
        };
      };
      faster += compare_in_pairs(timed(1), timed(ratio), never).verdict == PairedVerdict::kFaster;
    }
    return static_cast<double>(faster) / kSeries;
  };
  EXPECT_GT(share_of_faster(0.8), 0.87);
  EXPECT_LT(share_of_faster(1), 0.04);
}

TEST(PairedComparison, EndsWhenItIsDecided) {
  const std::string wins(50, 'w'), losses(50, 'l');
  EXPECT_EQ(compared(wins).verdict, PairedVerdict::kFaster);
  EXPECT_THAT(compared(wins).stored, SizeIs(kFewestPairs));
  EXPECT_EQ(compared(losses).verdict, PairedVerdict::kNotFaster);
  EXPECT_THAT(compared(losses).challenger, SizeIs(3));
  const Times same(50, {.kernel_ns = 2});
  EXPECT_EQ(compared(same, same).verdict, PairedVerdict::kNotFaster)
      << "an equal kernel is not faster";
}

TEST(PairedComparison, SomeLossesOnlyAskForMorePairs) {
  const PairedComparison one = compared("wlwwwwwwwwwwwww");
  EXPECT_EQ(one.verdict, PairedVerdict::kFaster);
  EXPECT_THAT(one.stored, SizeIs(11)) << "10 wins and 1 loss: 9 >= 6 + 11 / 4";
  const PairedComparison three = compared("lwlwlwwwwwwwwwwwwwwwwwww");
  EXPECT_EQ(three.verdict, PairedVerdict::kFaster);
  EXPECT_THAT(three.stored, SizeIs(16)) << "13 wins and 3 losses: 10 >= 6 + 16 / 4";
}

TEST(PairedComparison, AChallengerThatWinsTooFewPairsIsNotFasterAfterTheMost) {
  std::string outcomes = "wwww";
  while (outcomes.size() < 60) outcomes += "lwlww";
  EXPECT_EQ(compared(outcomes).verdict, PairedVerdict::kNotFaster);
  EXPECT_THAT(compared(outcomes).stored, SizeIs(kMostPairs));
}

TEST(PairedComparison, PairsWithADisturbedTimeDoNotCountUntilThereWereManyOfThem) {
  Times stored(60, {.kernel_ns = 2}), slow(60, {.kernel_ns = 3, .disturbed = true});
  Times challenger(60, {.kernel_ns = 1});
  for (std::size_t i = 0; i < kMostDisturbedPairs; ++i) {
    challenger[i].kernel_ns = 3;
    (i % 2 == 0 ? challenger : stored)[i].disturbed = true;
  }
  const PairedComparison faster = compared(stored, challenger);
  EXPECT_EQ(faster.verdict, PairedVerdict::kFaster);
  EXPECT_THAT(faster.stored, SizeIs(kFewestPairs));
  EXPECT_EQ(faster.faster_pairs(), kFewestPairs);
  const PairedComparison slower = compared(stored, slow);
  EXPECT_EQ(slower.verdict, PairedVerdict::kNotFaster) << "on a machine that is always disturbed";
}

TEST(PairedComparison, WithoutEnoughPairsNothingIsDecided) {
  const PairedComparison missing = compared(times({2, 2, 2}), times({1, 1, 1}));
  EXPECT_EQ(missing.verdict, PairedVerdict::kUndecided);
  EXPECT_EQ(missing.faster_pairs(), 3u);
  int asked = 0;
  const auto one = [&] {
    ++asked;
    return std::optional(PairTime{.kernel_ns = 1});
  };
  const PairedComparison stopped = compare_in_pairs(one, one, [] { return true; });
  EXPECT_EQ(stopped.verdict, PairedVerdict::kUndecided);
  EXPECT_THAT(stopped.stored, IsEmpty());
  EXPECT_EQ(asked, 0);
}

TEST(PairedComparison, WaitsWhileTheMachineIsSlowerForBoth) {
  int waits = 0;
  // For as long as a neighbour computes, the challenger is no faster than the stored kernel.
  const auto timed = [&](double usual_ns) {
    return [&, usual_ns] {
      return std::optional(PairTime{.kernel_ns = waits < 3 ? 2.0 : usual_ns, .usual_ns = usual_ns});
    };
  };
  const PairedComparison paired = compare_in_pairs(timed(1), timed(0.8), never, [&] {
    ++waits;
    return true;
  });
  EXPECT_EQ(waits, 3);
  EXPECT_EQ(paired.verdict, PairedVerdict::kFaster);
  EXPECT_THAT(paired.stored, SizeIs(kFewestPairs));
}

TEST(PairedComparison, TakesAMachineAsItIsThatStaysSlow) {
  constexpr int kMostWaits = 5;
  int waits = 0;
  const auto timed = [](double ns) {
    return [ns] { return std::optional(PairTime{.kernel_ns = ns, .usual_ns = ns / 2}); };
  };
  const PairedComparison paired =
      compare_in_pairs(timed(1), timed(0.8), never, [&] { return waits++ < kMostWaits; });
  EXPECT_EQ(paired.verdict, PairedVerdict::kFaster);
  EXPECT_THAT(paired.stored, SizeIs(kFewestPairs));
  EXPECT_EQ(waits, kMostWaits + static_cast<int>(kFewestPairs)) << "one was asked for after each";
}

TEST(PairedComparison, TheOrderWithinPairsAlternates) {
  std::string order;
  const auto timed = [&](char name) {
    return [&order, name] {
      order += name;
      return std::optional(PairTime{.kernel_ns = 1});
    };
  };
  compare_in_pairs(timed('s'), timed('c'), never);
  EXPECT_EQ(order, "sccssc");
}

}  // namespace
}  // namespace rooftile
