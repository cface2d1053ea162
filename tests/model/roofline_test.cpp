#include "runtime/model/roofline.h"

#include <gmock/gmock.h>
#include <rapidcheck/gtest.h>

#include <algorithm>

#include "tests/model/random_inputs.h"

namespace rooftile {
namespace {

Variant tiled(int tile_m, int tile_n, int reg_m, int reg_n) {
  return {.family = Family::kTiled,
          .tile_m = tile_m,
          .tile_n = tile_n,
          .tile_k = 16,
          .reg_m = reg_m,
          .reg_n = reg_n,
          .stage = Stage::kShared};
}

DeviceRates gpu() {
  return {.submit_ns = 20000,
          .dispatch_ns = 2000,
          .fma_gflops = 15110,
          .shared_gbps = 10000,
          .levels = {{.name = "cache", .gbps = 1500, .footprint_bytes = 24e6},
                     {.name = "memory", .gbps = 272}},
          .compute_units = 24};
}

TEST(Waves, TwelveWorkgroupsOnEightUnitsLeaveHalfOfTheSecondWaveIdle) {
  const Waves w = waves(packed_problem(3 * 64, 4 * 64, 50), tiled(64, 64, 4, 4), 8);
  EXPECT_EQ(w.workgroups, 12);
  EXPECT_EQ(w.waves, 2);
  EXPECT_DOUBLE_EQ(w.wave_efficiency, 0.75);
  EXPECT_EQ(w.tile_efficiency, 1);
}

TEST(Waves, EdgesAndBatchesCount) {
  Problem p = packed_problem(65, 63, 10);
  p.batch = 3;
  const Waves w = waves(p, tiled(64, 64, 4, 4), 4);
  EXPECT_EQ(w.workgroups, 2 * 3);
  EXPECT_DOUBLE_EQ(w.tile_efficiency, 65.0 * 63 / (128 * 64));
  EXPECT_DOUBLE_EQ(w.wave_efficiency, 6.0 / 8);
}

TEST(Waves, SlicesOfKAreWorkgroupsAndBatchMembersMayShareOne) {
  const Problem p = packed_problem(64, 64, 1000);
  Variant v = tiled(64, 64, 4, 4);
  v.split_k = 4;  // 250 steps each, in tiles of 16: 256, 256, 256 and 232
  EXPECT_EQ(waves(p, v, 3).workgroups, 4);
  EXPECT_EQ(waves(p, v, 3).waves, 2);
  v.split_k = 64;  // one tile per partial sum
  EXPECT_EQ(waves(p, v, 3).workgroups, 63);
  Problem batch = packed_problem(8, 8, 8);
  batch.batch = 9;
  const Variant small{.family = Family::kBatchedSmall, .tile_m = 8, .tile_n = 8, .tile_batch = 4};
  EXPECT_EQ(waves(batch, small, 1).workgroups, 3);
}

TEST(Waves, NothingToDoIsNoWave) {
  const Waves w = waves(packed_problem(0, 63, 10), tiled(64, 64, 4, 4), 4);
  EXPECT_EQ(w.workgroups, 0);
  EXPECT_EQ(w.wave_efficiency, 1);
  EXPECT_EQ(w.tile_efficiency, 1);
}

RC_GTEST_PROP(Waves, EfficienciesAreShares, ()) {
  const Waves w = waves(random_problem(), tiled(64, 32, 4, 4), uniform(1, 200));
  RC_ASSERT(w.wave_efficiency > 0 && w.wave_efficiency <= 1 + 1e-12);
  RC_ASSERT(w.tile_efficiency > 0 && w.tile_efficiency <= 1 + 1e-12);
}

TEST(Roofline, NamesTheLimiterOfEachRegime) {
  const struct {
    const char* limiter;
    Problem problem;
    Variant variant;
  } cases[] = {
      {"math", packed_problem(4096, 4096, 4096), tiled(128, 128, 8, 8)},
      {"memory:memory", packed_problem(1, 20000, 5000), tiled(16, 256, 1, 4)},
      {"memory:cache", packed_problem(4096, 4096, 4000), tiled(16, 16, 4, 4)},
      {"memory:shared", packed_problem(4096, 4096, 4096), tiled(64, 64, 1, 1)},
      {"latency", packed_problem(33, 31, 17), tiled(16, 16, 2, 2)},
      {"tail", packed_problem(100, 120, 50000), tiled(128, 128, 8, 8)},
  };
  for (const auto& c : cases) {
    const Roofline r = roofline(c.problem, c.variant, gpu());
    EXPECT_EQ(r.bounds.front().limiter, c.limiter) << to_string(c.problem);
    EXPECT_TRUE(std::ranges::is_sorted(r.bounds, std::greater{}, &Bound::ns));
  }
}

TEST(Roofline, EveryLevelHasItsIntensityAndRate) {
  DeviceRates rates = gpu();
  rates.levels = {{.name = "cache", .gbps = 3000, .footprint_bytes = 1e6},
                  {.name = "cache2", .gbps = 1500, .footprint_bytes = 24e6},
                  {.name = "memory", .gbps = 272}};
  rates.upload_gbps = 20;
  rates.download_gbps = 10;
  const Problem p = packed_problem(1000, 1200, 800);
  const Roofline r = roofline(p, tiled(64, 64, 4, 4), rates);
  std::vector<std::string> names;
  for (const LevelUse& level : r.levels) {
    names.push_back(level.name);
    EXPECT_DOUBLE_EQ(level.intensity * level.bytes, flops(p)) << level.name;
    EXPECT_NEAR(level.bound_ns * level.gbps, level.bytes, 1e-6 * level.bytes) << level.name;
  }
  EXPECT_THAT(names, testing::ElementsAre("shared", "cache", "cache2", "memory", "host"));
  EXPECT_EQ(r.levels[1].bytes, r.traffic.cache_bytes);
  EXPECT_EQ(r.levels[3].bytes, minimum_bytes(p));
  const double c = 4.0 * 1000 * 1200;
  EXPECT_DOUBLE_EQ(r.levels[4].bound_ns, (minimum_bytes(p) - c) / 20 + c / 10);
  // The link bounds no kernel, and 12 MB fit the second cache.
  for (const Bound& bound : r.bounds) {
    EXPECT_NE(bound.limiter, "memory:host");
    EXPECT_NE(bound.limiter, "memory:memory");
  }
  rates.upload_gbps = 0;  // A link without a measured rate is no level.
  EXPECT_EQ(roofline(p, tiled(64, 64, 4, 4), rates).levels.back().name, "memory");
}

// With fewer than four workgroups per unit, other workgroups cannot hide the latency of loads:
// each tile waits for its own loads.
TEST(Roofline, FewWorkgroupsWaitForTheirLoads) {
  DeviceRates rates = gpu();
  rates.load_latency_ns = 500;
  const auto latency = [&](std::int64_t m, const Variant& v) {
    const Roofline r = roofline(packed_problem(m, 64, 1024), v, rates);
    return std::ranges::find(r.bounds, "latency", &Bound::limiter)->ns - rates.dispatch_ns;
  };
  const Variant v = tiled(64, 64, 4, 4);
  EXPECT_DOUBLE_EQ(latency(64, v), 64 * 500);
  EXPECT_DOUBLE_EQ(latency(64 * 25, v), 2 * 64 * 500);  // two waves on 24 units
  EXPECT_DOUBLE_EQ(latency(64 * 96, v), 0);             // four workgroups a unit
  Variant two_stages = v, split = v, direct = v;
  two_stages.stages = 2;
  split.split_k = 4;
  direct.family = Family::kRegister;
  direct.stage = Stage::kNone;
  EXPECT_DOUBLE_EQ(latency(64, two_stages), 500);
  Variant ahead = v;
  ahead.prefetch = Prefetch::kAhead;
  EXPECT_DOUBLE_EQ(latency(64, ahead), 500);
  EXPECT_DOUBLE_EQ(latency(64, split), 16 * 500);
  EXPECT_DOUBLE_EQ(latency(64, direct), 500);
}

TEST(Roofline, SharedMemoryBoundsOnlyKernelsThatUseIt) {
  Variant v = tiled(64, 64, 1, 1);
  v.family = Family::kRegister;
  v.stage = Stage::kNone;
  for (const Bound& b : roofline(packed_problem(512, 511, 300), v, gpu()).bounds)
    EXPECT_NE(b.limiter, "memory:shared");
}

TEST(Roofline, DataThatFitsTheCacheIsNotBoundByMemory) {
  const Roofline r = roofline(packed_problem(1, 1000, 5000), tiled(16, 256, 1, 4), gpu());
  for (const Bound& b : r.bounds) EXPECT_NE(b.limiter, "memory:memory");
}

// A bound counts only the work that the whole problem needs; work that a kernel may skip is not
// counted.
RC_GTEST_PROP(Roofline, IsAtLeastTheProblemsBoundAndCountsNothingTwice, ()) {
  const Problem p = random_problem();
  const DeviceRates rates = random_device();
  const Variant v = tiled(*rc::gen::element(16, 64, 128), *rc::gen::element(16, 64, 128), 4, 4);
  const Roofline r = roofline(p, v, rates);
  RC_ASSERT(r.ns() >= problem_bound_ns(p, rates));
  // A machine without repeated or overlapping work: arithmetic on the busiest unit, plus every
  // transfer.
  const Waves w = waves(p, v, rates.compute_units);
  const double arithmetic = flops(p) / rates.fma_gflops / (w.wave_efficiency * w.tile_efficiency);
  double transfers = rates.dispatch_ns;
  for (const MemoryLevel& level : rates.levels) transfers += r.traffic.cache_bytes / level.gbps;
  transfers += r.traffic.register_bytes / rates.shared_gbps;
  RC_ASSERT(r.ns() <= (arithmetic + transfers) * (1 + 1e-9));
}

// Kernels may skip what lies outside of C, so that edges alone do not raise the bound.
RC_GTEST_PROP(Roofline, OneUnitIsNeverIdle, ()) {
  DeviceRates rates = gpu();
  rates.compute_units = 1;
  const Problem p = random_problem();
  const Roofline r = roofline(p, tiled(64, 128, 4, 4), rates);
  const auto math = std::ranges::find(r.bounds, "math", &Bound::limiter);
  RC_ASSERT(math != r.bounds.end());
  RC_ASSERT(math->ns <= flops(p) / rates.fma_gflops * (1 + 1e-12));
}

TEST(Roofline, HeadroomSaysHowFarAndWhatNext) {
  const Roofline r{.bounds = {{"memory:cache", 1400}, {"math", 1000}, {"latency", 10}},
                   .traffic = {},
                   .waves = {}};
  EXPECT_DOUBLE_EQ(headroom(r, 2100).over_bound, 1.5);
  EXPECT_DOUBLE_EQ(headroom(r, 2100).if_lifted, 1.4);
  EXPECT_EQ(headroom(r, 2100).next, "math");
  const Roofline only{.bounds = {{"math", 1000}}};
  EXPECT_EQ(headroom(only, 2000).if_lifted, 1);
  EXPECT_EQ(headroom(only, 2000).next, "");
}

TEST(Roofline, UnmeasuredRatesBoundNothing) {
  const Problem p = packed_problem(100, 120, 130);
  EXPECT_EQ(roofline(p, tiled(16, 16, 4, 4), {}).ns(), 0);
  EXPECT_EQ(problem_bound_ns(p, {}), 0);
}

TEST(Roofline, EmptyProblemsCostALaunch) {
  EXPECT_EQ(roofline(packed_problem(0, 5, 7), tiled(16, 16, 4, 4), gpu()).ns(), gpu().dispatch_ns);
}

TEST(Limiter, IsTheLargestCostAndTheNextWhereBothAreAlike) {
  const Limiter clear = limiter({.costs = {{"memory:cache", 60}, {"math", 30}, {"stores", 10}}});
  EXPECT_EQ(clear.name, "memory:cache");
  EXPECT_EQ(clear.other, "");
  EXPECT_DOUBLE_EQ(clear.ns, 60);
  EXPECT_DOUBLE_EQ(clear.share, 0.6);
  const Limiter alike = limiter({.costs = {{"math", 60}, {"latency", 41}}});
  EXPECT_EQ(alike.name, "math");
  EXPECT_EQ(alike.other, "latency");
  EXPECT_EQ(limiter(roofline(packed_problem(3, 5, 7), tiled(16, 16, 4, 4), {})).name, "");
}

}  // namespace
}  // namespace rooftile
