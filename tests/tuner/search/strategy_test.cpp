#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <set>

#include "core/error.h"
#include "core/numbers/random.h"
#include "tests/support/refusal.h"
#include "tuner/search/strategies.h"

namespace rooftile {
namespace {

constexpr double kUnlimited = std::numeric_limits<double>::infinity();

/// Tiled kernels of this many shapes, whose times have one minimum: 64 x 32 with 8 x 4 sums.
struct Valley {
  SearchSpace space;
  std::vector<double> ns;
  std::size_t best = 0;
};

Valley valley() {
  std::vector<Variant> variants;
  std::vector<double> ns;
  for (const int tile_m : {16, 32, 64, 128})
    for (const int tile_n : {16, 32, 64, 128})
      for (const int tile_k : {8, 16, 32})
        for (const int reg_m : {2, 4, 8})
          for (const int reg_n : {2, 4, 8}) {
            variants.push_back({.family = Family::kTiled,
                                .tile_m = tile_m,
                                .tile_n = tile_n,
                                .tile_k = tile_k,
                                .reg_m = reg_m,
                                .reg_n = reg_n});
            const auto away = [](int x, int from) { return std::abs(std::log2(x / double(from))); };
            ns.push_back(1e5 * std::exp2(0.5 * away(tile_m, 64) + 0.4 * away(tile_n, 32) +
                                         0.2 * away(tile_k, 16) + 0.6 * away(reg_m, 8) +
                                         0.5 * away(reg_n, 4)));
          }
  Valley result{
      .space = search_space(packed_problem(512, 384, 256), DeviceRates{}, std::move(variants)),
      .ns = std::move(ns)};
  // An uninformative model: any other order of the same numbers would serve as well.
  Random random(7);
  for (double& guess : result.space.analytical_ns) guess = 1e5 * (1 + random.unit());
  result.best = static_cast<std::size_t>(std::ranges::min_element(result.ns) - result.ns.begin());
  return result;
}

std::vector<std::size_t> searched(const Valley& valley, const SearchSpace& space,
                                  std::string_view name, std::uint64_t seed, std::size_t candidates,
                                  std::size_t batch = kSearchBatch) {
  const auto strategy = make_strategy(name, space, seed);
  std::vector<Observation> history;
  std::vector<std::size_t> order;
  while (order.size() < candidates) {
    const auto next = strategy->propose(history, std::min(batch, candidates - order.size()));
    if (next.empty()) break;
    EXPECT_LE(next.size(), batch);
    for (const std::size_t i : next) {
      history.push_back({i, valley.ns[i]});
      order.push_back(i);
    }
  }
  return order;
}

double share_of_best(const Valley& valley, const std::vector<std::size_t>& order) {
  double best = kUnlimited;
  for (const std::size_t i : order) best = std::min(best, valley.ns[i]);
  return valley.ns[valley.best] / best;
}

class EveryStrategy : public testing::TestWithParam<std::string> {};
INSTANTIATE_TEST_SUITE_P(Strategies, EveryStrategy, testing::ValuesIn(strategy_names()),
                         [](const auto& name) { return name.param; });

TEST_P(EveryStrategy, CoversASmallSpaceWithoutRepeats) {
  Valley v = valley();
  v.space.variants.resize(60);
  const SearchSpace space = search_space(v.space.problem, v.space.rates, v.space.variants);
  const auto order = searched(v, space, GetParam(), 3, 1000, 7);
  EXPECT_EQ(order.size(), 60u);
  EXPECT_EQ(std::set(order.begin(), order.end()).size(), 60u);
}

TEST_P(EveryStrategy, RepeatsItselfForOneSeed) {
  const Valley v = valley();
  EXPECT_EQ(searched(v, v.space, GetParam(), 3, 40), searched(v, v.space, GetParam(), 3, 40));
}

TEST_P(EveryStrategy, SkipsCandidatesThatAreAlreadyMeasured) {
  const Valley v = valley();
  std::vector<Observation> history;
  for (std::size_t i = 0; i < v.ns.size(); i += 2) history.push_back({i, v.ns[i]});
  const auto strategy = make_strategy(GetParam(), v.space, 1);
  for (int turn = 0; turn < 5; ++turn)
    for (const std::size_t i : strategy->propose(history, 8)) {
      EXPECT_EQ(i % 2, 1u);
      history.push_back({i, v.ns[i]});
    }
}

TEST_P(EveryStrategy, ToleratesFailedCandidates) {
  const Valley v = valley();
  const auto strategy = make_strategy(GetParam(), v.space, 1);
  std::vector<Observation> history;
  std::set<std::size_t> seen;
  for (int turn = 0; turn < 12; ++turn)
    for (const std::size_t i : strategy->propose(history, 4)) {
      EXPECT_TRUE(seen.insert(i).second);
      history.push_back({i, turn % 3 == 2 ? v.ns[i] : kUnlimited});
    }
  EXPECT_EQ(seen.size(), 48u);
}

TEST_P(EveryStrategy, ProposesNothingInAnEmptySpace) {
  const SearchSpace empty = search_space(packed_problem(8, 8, 8), DeviceRates{}, {});
  EXPECT_TRUE(make_strategy(GetParam(), empty, 1)->propose({}, 4).empty());
}

TEST(StrategyTest, ExhaustiveFollowsTheModelsOrder) {
  Valley v = valley();
  const auto order = searched(v, v.space, "exhaustive", 0, 10);
  for (std::size_t i = 1; i < order.size(); ++i)
    EXPECT_LE(v.space.analytical_ns[order[i - 1]], v.space.analytical_ns[order[i]]);
}

// 432 kernels and 48 measurements: strategies that learn beat random choice on average, and the
// surrogates come close to the best every time.
TEST(StrategyTest, LearningStrategiesBeatRandomOnASmoothSpace) {
  const Valley v = valley();
  constexpr std::uint64_t kSeeds = 20;
  const auto shares = [&](std::string_view name) {
    std::vector<double> all;
    for (std::uint64_t seed = 0; seed < kSeeds; ++seed)
      all.push_back(share_of_best(v, searched(v, v.space, name, seed, 48)));
    return all;
  };
  const auto mean = [](const std::vector<double>& x) {
    return std::accumulate(x.begin(), x.end(), 0.0) / static_cast<double>(x.size());
  };
  const double chance = mean(shares("random"));
  for (const std::string name : {"model", "auto"}) {
    EXPECT_GT(mean(shares(name)), chance) << name;
    for (const double share : shares(name)) EXPECT_GT(share, 0.9) << name;
  }
}

TEST(StrategyTest, AutoTriesStartsFirst) {
  Valley v = valley();
  v.space.starts = {17, 3};
  const auto order = searched(v, v.space, "auto", 0, 4);
  EXPECT_EQ(order[0], 17u);
  EXPECT_EQ(order[1], 3u);
}

TEST(StrategyTest, SurrogatesBeginWithTheModelsFirstCandidates) {
  const Valley v = valley();
  EXPECT_EQ(searched(v, v.space, "model", 0, 4), searched(v, v.space, "exhaustive", 0, 4));
  Valley started = valley();
  started.space.starts = {17, 17, 3};  // duplicates count once
  const auto order = searched(started, started.space, "auto", 0, 4);
  const auto by_model = searched(started, started.space, "exhaustive", 0, 2);
  EXPECT_EQ(order, (std::vector<std::size_t>{17, 3, by_model[0], by_model[1]}));
}

// A surrogate chooses among the candidates that the analytical model ranks best. Their number is
// half of the square of the number measured, at least 16.
TEST(StrategyTest, SurrogatesWidenTheirPoolWithTime) {
  const Valley v = valley();
  const auto by_model = searched(v, v.space, "exhaustive", 0, v.ns.size());
  const auto place = [&](std::size_t candidate) {
    return static_cast<std::size_t>(std::ranges::find(by_model, candidate) - by_model.begin());
  };
  const auto most = [](std::size_t measured) {
    return std::max<std::size_t>(16, measured * measured / 2);
  };
  const auto order = searched(v, v.space, "model", 0, 32);
  std::size_t furthest = 0;
  for (std::size_t i = 0; i < order.size(); ++i) {
    EXPECT_LT(place(order[i]), most(i / kSearchBatch * kSearchBatch)) << i;
    furthest = std::max(furthest, place(order[i]));
  }
  EXPECT_GE(furthest, most(8)) << "the choice widens with the number measured";
}

TEST(StrategyTest, TransferredTimesGuideTheSurrogate) {
  Valley v = valley();
  // Distance of the candidates after the first batch from the best, in octaves.
  const auto octaves = [&](std::string_view name) {
    const auto order = searched(v, v.space, name, 0, 16);
    double sum = 0;
    for (std::size_t i = kSearchBatch; i < order.size(); ++i)
      sum += std::log2(v.ns[order[i]] / v.ns[v.best]);
    return sum;
  };
  const double blind = octaves("auto");
  for (std::size_t i = 0; i < v.ns.size(); ++i)
    v.space.transferred[i] = std::log2(v.ns[i] / v.ns[v.best]);
  EXPECT_LT(octaves("auto"), blind);
  EXPECT_EQ(octaves("model"), blind) << "the model strategy uses no other device's samples";
}

// When measurements on this device contradict other devices, their samples lose all weight: the
// search continues as if it had none.
TEST(StrategyTest, ContradictedTransferIsDropped) {
  Valley v = valley();
  Random random(3);
  for (std::size_t i = 0; i < v.ns.size(); ++i)
    v.space.analytical_ns[i] = v.ns[i] * std::exp2(0.4 * random.unit());
  const auto choice = [&] {
    const auto strategy = make_strategy("auto", v.space, 0);
    std::vector<Observation> history;
    for (std::size_t i = 0; i < v.ns.size(); i += 30) history.push_back({i, v.ns[i]});
    for (const std::size_t i : strategy->propose(history, kSearchBatch))
      history.push_back({i, v.ns[i]});
    return strategy->propose(history, kSearchBatch);
  };
  const auto alone = choice();
  for (const bool right : {true, false}) {
    for (std::size_t i = 0; i < v.ns.size(); ++i)
      v.space.transferred[i] =
          right ? std::log2(v.ns[i] / v.ns[v.best]) : 5 * random.unit();  // for times up to 2^5
    EXPECT_EQ(choice() == alone, !right);
  }
}

TEST(StrategyTest, StartsThatTheModelRejectsAreNotTriedFirst) {
  Valley v = valley();
  std::ranges::fill(v.space.analytical_ns, 4e5);
  v.space.analytical_ns[7] = 1e5;
  v.space.analytical_ns[8] = 1.8e5;
  v.space.analytical_ns[9] = 1.9e5;
  EXPECT_TRUE(is_plausible(v.space, 7));
  EXPECT_TRUE(is_plausible(v.space, 8));
  EXPECT_FALSE(is_plausible(v.space, 9));
}

TEST(FamilyFirsts, AreTheFastestOfPlausibleFamiliesThatWereNotTried) {
  const auto of = [](Family family) { return Variant{.family = family}; };
  const std::vector<Variant> variants = {of(Family::kTiled),    of(Family::kTiled),
                                         of(Family::kRegister), of(Family::kRegister),
                                         of(Family::kVector),   of(Family::kNaive)};
  const std::vector<double> ns = {120, 110, 130, 100, 150, 151};
  std::vector<bool> tried(variants.size());
  EXPECT_EQ(family_firsts(variants, ns, tried), (std::vector<std::size_t>{3, 1, 4}))
      << "the naive kernel takes more than 1.5 times as long as the fastest";
  tried[2] = true;
  EXPECT_EQ(family_firsts(variants, ns, tried), (std::vector<std::size_t>{1, 4}))
      << "one of the family's slower candidates counts as well";
  std::vector<double> rejected = ns;
  rejected[1] = kUnlimited;
  EXPECT_EQ(family_firsts(variants, rejected, tried), (std::vector<std::size_t>{0, 4}));
  EXPECT_TRUE(family_firsts(variants, ns, std::vector<bool>(variants.size(), true)).empty());
}

TEST(StrategyTest, ASurrogateExpectsAGainOnceItHasARegression) {
  const Valley v = valley();
  const auto strategy = make_strategy("auto", v.space, 0);
  std::vector<Observation> history;
  for (int batch = 0; batch < 3; ++batch) {
    const std::vector<std::size_t> proposed = strategy->propose(history, kSearchBatch);
    EXPECT_EQ(strategy->expected_gain().has_value(), batch > 0);
    EXPECT_GE(strategy->expected_gain().value_or(0), 0);
    for (const std::size_t i : proposed) history.push_back({i, v.ns[i]});
  }
  EXPECT_EQ(make_strategy("random", v.space, 0)->expected_gain(), std::nullopt);
}

TEST(StrategyTest, TransferFollowsTimesOfOtherDevices) {
  Valley v = valley();
  v.space.starts = {5};
  v.space.transferred[40] = 0.0;
  v.space.transferred[7] = 1.0;
  EXPECT_EQ(searched(v, v.space, "transfer", 0, 3), (std::vector<std::size_t>{5, 40, 7}));
}

TEST(StrategyTest, UnknownNamesAreRefusedWithTheKnownOnes) {
  const Error error = error_of([] { make_strategy("auto?", valley().space, 0); });
  for (const std::string& name : strategy_names())
    EXPECT_THAT(error.what(), ::testing::HasSubstr(name));
}

}  // namespace
}  // namespace rooftile
