#include "runtime/model/fit/plateaus.h"

#include <gmock/gmock.h>

#include <cmath>
#include <random>
#include <vector>

namespace rooftile {
namespace {

struct Level {
  double capacity_bytes, gbps;
};

/// Rates of a machine with these levels: a footprint within a level runs at its rate, and the
/// share that exceeds it runs at the next level's rate. A launch costs the same for every
/// footprint.
std::vector<BandwidthPoint> curve(const std::vector<Level>& levels, double launch_ns, double noise,
                                  std::uint32_t seed) {
  std::mt19937 random(seed);
  std::normal_distribution<double> deviation(0, 1);
  std::vector<BandwidthPoint> points;
  for (double footprint = 32768; footprint <= 512e6; footprint *= 2) {
    double ns = launch_ns, left = footprint, held = 0;
    for (const Level& level : levels) {
      // Streaming through a cache that is too small has nearly no hits.
      const double share = footprint <= level.capacity_bytes
                               ? left
                               : std::max(0.0, 2 * level.capacity_bytes - footprint);
      const double here = std::min(left, std::max(0.0, share - held));
      ns += here / level.gbps;
      left -= here;
      held += here;
    }
    ns += left / levels.back().gbps;
    points.push_back({footprint, footprint / ns * std::exp(noise * deviation(random))});
  }
  return points;
}

/// A cache's rate is its best point; memory's rate is that of the largest footprint.
std::vector<double> rates(const std::vector<BandwidthPoint>& points) {
  std::vector<double> gbps;
  for (const Plateau& plateau : find_plateaus(points)) {
    double best = 0;
    for (std::size_t i = plateau.first; i <= plateau.last; ++i)
      best = std::max(best, points[i].gbps);
    gbps.push_back(plateau.last + 1 == points.size() ? points.back().gbps : best);
  }
  return gbps;
}

constexpr Level kMemory = {1e18, 20};
constexpr double kNoises[] = {0, 0.03, 0.06};

TEST(Plateaus, OneLevelIsMemoryOnly) {
  for (const double noise : kNoises)
    for (std::uint32_t seed = 0; seed < 50; ++seed) {
      const auto points = curve({kMemory}, 0, noise, seed);
      const std::vector<Plateau> found = find_plateaus(points);
      ASSERT_EQ(found.size(), 1u) << noise << " " << seed;
      EXPECT_EQ(found.back().last, points.size() - 1);
    }
}

TEST(Plateaus, TwoLevelsAndWhereTheFirstEnds) {
  for (const double noise : kNoises)
    for (std::uint32_t seed = 0; seed < 50; ++seed) {
      const auto points = curve({{3e6, 100}, kMemory}, 0, noise, seed);
      const std::vector<Plateau> found = find_plateaus(points);
      ASSERT_EQ(found.size(), 2u) << noise << " " << seed;
      EXPECT_EQ(points[found[0].last].footprint_bytes, 2097152) << noise << " " << seed;
      EXPECT_NEAR(rates(points)[0] / 100, 1, 0.25);
      EXPECT_NEAR(rates(points)[1] / 20, 1, 0.25);
    }
}

TEST(Plateaus, ThreeLevels) {
  for (const double noise : kNoises)
    for (std::uint32_t seed = 0; seed < 50; ++seed) {
      const auto points = curve({{1.1e6, 200}, {40e6, 70}, kMemory}, 0, noise, seed);
      ASSERT_EQ(find_plateaus(points).size(), 3u) << noise << " " << seed;
      EXPECT_THAT(rates(points),
                  testing::ElementsAre(testing::DoubleNear(200, 50), testing::DoubleNear(70, 18),
                                       testing::DoubleNear(20, 5)));
    }
}

TEST(Plateaus, WhatALaunchCostsSmallFootprintsIsNoLevel) {
  const auto points = curve({{24e6, 900}, {1e18, 270}}, 5000, 0.02, 1);
  const std::vector<Plateau> found = find_plateaus(points);
  ASSERT_EQ(found.size(), 2u);
  EXPECT_GT(found[0].first, 3u);
  EXPECT_EQ(found[1].last, points.size() - 1);
}

TEST(Plateaus, ASinglePointInBetweenIsATransition) {
  const std::vector<BandwidthPoint> points = {{1, 100}, {2, 101}, {4, 99}, {8, 55},
                                              {16, 20}, {32, 21}, {64, 20}};
  EXPECT_THAT(find_plateaus(points), testing::ElementsAre(Plateau{0, 2}, Plateau{4, 6}));
}

TEST(Plateaus, AlwaysEndsWithTheLargestFootprint) {
  EXPECT_TRUE(find_plateaus({}).empty());
  const std::vector<BandwidthPoint> one = {{1, 5}}, falls_at_the_end = {{1, 5}, {2, 5}, {4, 1}},
                                    rises = {{1, 5}, {2, 10}, {4, 20}};
  EXPECT_THAT(find_plateaus(one), testing::ElementsAre(Plateau{0, 0}));
  EXPECT_THAT(find_plateaus(falls_at_the_end), testing::ElementsAre(Plateau{0, 1}, Plateau{2, 2}));
  EXPECT_THAT(find_plateaus(rises), testing::ElementsAre(Plateau{2, 2}));
}

}  // namespace
}  // namespace rooftile
