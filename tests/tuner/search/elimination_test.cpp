#include "tuner/search/elimination.h"

#include <gtest/gtest.h>

#include "core/numbers/random.h"

namespace rooftile {
namespace {

const auto kNeverStop = [] { return false; };

/// Times with one-sided noise, as on a busy machine: never below the true time, and sometimes much
/// longer.
double noisy(double truth_ns, Random& random) {
  const double noise = 0.02 * static_cast<double>(random.symmetric() + 1.0f);
  return truth_ns * (1.0 + noise) * (random.below(20) == 0 ? 1.5 : 1.0);
}

TEST(EliminationTest, FindsTheBestUnderNoiseAndDropsTheSlowEarly) {
  int right = 0;
  constexpr int kSeeds = 200;
  for (int seed = 0; seed < kSeeds; ++seed) {
    Random random(static_cast<std::uint64_t>(seed));
    const std::vector<double> truth = {130, 100, 115, 400, 900};
    std::vector<int> visits(truth.size());
    const auto arms = eliminate(truth.size(),
                                [&](std::size_t arm, int count) {
                                  std::vector<double> samples;
                                  for (int i = 0; i < count; ++i)
                                    samples.push_back(noisy(truth[arm], random));
                                  ++visits[arm];
                                  return std::optional(samples);
                                },
                                kNeverStop, {.samples_per_round = 3, .rounds = 4, .keep = 1});
    right += ranking(arms).front() == 1 ? 1 : 0;
    EXPECT_EQ(visits[4], 1) << "a kernel nine times too slow was measured again";
    EXPECT_FALSE(arms[4].alive);
  }
  // The kernels differ by 15 %, with 4 % noise and 5 % outliers: a median of three rounds is wrong
  // in far less than one case in fifty.
  EXPECT_GE(right, kSeeds * 49 / 50);
}

// A clock that changes from round to round affects all arms of a round alike. An arm that was
// dropped early is compared in its own rounds only.
TEST(EliminationTest, EffectsOfARoundOnAllArmsAreRemoved) {
  const std::vector<Arm> polished =
      without_round_factors({{.samples_ns = {100, 130, 90, 100}, .rounds = {0, 1, 2, 3}},
                             {.samples_ns = {104, 135.2, 93.6, 104}, .rounds = {0, 1, 2, 3}},
                             {.samples_ns = {110}, .rounds = {1}}});
  for (const double ns : polished[0].samples_ns) EXPECT_NEAR(ns, 100, 1e-9);
  for (const double ns : polished[1].samples_ns) EXPECT_NEAR(ns, 104, 1e-9);
  EXPECT_NEAR(polished[2].samples_ns[0], 110 / 1.3, 1e-9);
  EXPECT_EQ(ranking(polished).front(), 2u);
}

TEST(EliminationTest, OneSlowRoundDoesNotDropAnArm) {
  std::vector<int> visits(2);
  const auto arms = eliminate(2,
                              [&](std::size_t arm, int count) {
                                const bool disturbed = arm == 1 && visits[arm] == 0;
                                ++visits[arm];
                                const double truth = arm == 0 ? 105 : 100;
                                return std::optional(std::vector<double>(
                                    static_cast<std::size_t>(count), disturbed ? 180 : truth));
                              },
                              kNeverStop, {.samples_per_round = 2, .rounds = 5, .keep = 1});
  EXPECT_GE(visits[1], 3);
  EXPECT_EQ(ranking(arms).front(), 1u);
}

TEST(EliminationTest, FailedArmsAreDroppedAndTheOthersContinue) {
  const auto arms = eliminate(3,
                              [](std::size_t arm, int count) -> std::optional<std::vector<double>> {
                                if (arm == 0) return std::nullopt;
                                return std::vector<double>(static_cast<std::size_t>(count),
                                                           10.0 * static_cast<double>(arm));
                              },
                              kNeverStop, {.samples_per_round = 2, .rounds = 2, .keep = 1});
  EXPECT_TRUE(arms[0].failed);
  EXPECT_EQ(ranking(arms), (std::vector<std::size_t>{1, 2}));
}

TEST(EliminationTest, StoppingKeepsTheResultsSoFar) {
  int calls = 0;
  const auto arms = eliminate(
      4,
      [&](std::size_t, int count) {
        ++calls;
        return std::optional(std::vector<double>(static_cast<std::size_t>(count), 1.0));
      },
      [&] { return calls >= 2; }, {});
  EXPECT_EQ(calls, 2);
  EXPECT_EQ(ranking(arms).size(), 2u);
}

}  // namespace
}  // namespace rooftile
