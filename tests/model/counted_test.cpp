#include "runtime/model/counted.h"

#include <gmock/gmock.h>

#include <vector>

namespace rooftile {
namespace {

PerformanceCounter bytes(const char* name, double value) {
  return {.name = name, .unit = "bytes", .scope = "command", .value = value};
}

const Problem kCountedProblem = packed_problem(1000, 1200, 800);
const Variant kTiledVariant =
    parse_variant("family=tiled tile_m=64 tile_n=64 tile_k=16 reg_m=4 reg_n=4 stage=shared");

DeviceRates gpu() {
  return {.dispatch_ns = 2000,
          .fma_gflops = 15110,
          .shared_gbps = 10000,
          .levels = {{.name = "cache", .gbps = 1500, .footprint_bytes = 24e6},
                     {.name = "memory", .gbps = 272}},
          .compute_units = 24};
}

double bound(const Roofline& roofline, const std::string& limiter) {
  for (const Bound& b : roofline.bounds)
    if (b.limiter == limiter) return b.ns;
  return 0;
}

TEST(CountedBytes, AreReadFromEachDriversCounterNames) {
  EXPECT_EQ(
      counted_bytes(std::vector{bytes("VRAM write size", 5), bytes("VRAM read size", 7)}).memory,
      12);
  EXPECT_EQ(counted_bytes(std::vector{bytes("GTI Read Throughput", 7), bytes("L3 Misses", 1),
                                      bytes("GTI Write Throughput", 2)})
                .memory,
            9);
  EXPECT_EQ(counted_bytes(
                std::vector{bytes("GPU Memory Byte Read", 3), bytes("GPU Memory Byte Write", 1)})
                .memory,
            4);
  EXPECT_EQ(counted_bytes(std::vector{bytes("SLM Bytes Read", 64)}).shared, 64);
}

TEST(CountedBytes, AreAbsentWhereACounterIsMissingOrZero) {
  EXPECT_EQ(counted_bytes(std::vector{bytes("VRAM read size", 7)}).memory, std::nullopt);
  EXPECT_EQ(counted_bytes(std::vector{bytes("VRAM read size", 7), bytes("GTI Write Throughput", 2)})
                .memory,
            std::nullopt)
      << "the counters belong to two different drivers";
  EXPECT_EQ(
      counted_bytes(std::vector{bytes("VRAM read size", 0), bytes("VRAM write size", 0)}).memory,
      std::nullopt);
  // On Xe-HPG the counter of this name counts messages.
  PerformanceCounter messages = bytes("SLM Bytes Read", 64);
  messages.unit = "generic";
  EXPECT_EQ(counted_bytes(std::vector{messages}).shared, std::nullopt);
  EXPECT_FALSE(is_known(messages));
  EXPECT_TRUE(is_known(bytes("SLM Bytes Read", 0)));
  EXPECT_FALSE(is_known(bytes("", 1)));
  EXPECT_FALSE(is_known(bytes("L2 cache hit ratio", 1)));
}

TEST(CountedRoofline, BoundsFollowFromCountedBytes) {
  const Roofline modelled = roofline(kCountedProblem, kTiledVariant, gpu());
  const Roofline r = with_counted(modelled, {.memory = 5.44e9, .shared = 1e6}, gpu());
  EXPECT_DOUBLE_EQ(bound(r, "memory:memory"), 5.44e9 / 272);
  EXPECT_DOUBLE_EQ(bound(r, "memory:shared"), 1e6 / 10000);
  EXPECT_EQ(bound(r, "math"), bound(modelled, "math"));
  EXPECT_EQ(r.bounds.front().limiter, "memory:memory") << "bounds are sorted, the largest first";
  EXPECT_EQ(limiter(r).name, "memory:memory") << "of costs as well";
  EXPECT_EQ(r.traffic.memory_bytes, modelled.traffic.memory_bytes);
}

TEST(CountedRoofline, WithoutCountersOrCalibrationNothingChanges) {
  const auto same = [](const Roofline& x, const Roofline& y) {
    if (x.bounds.size() != y.bounds.size()) return false;
    for (std::size_t i = 0; i < x.bounds.size(); ++i)
      if (x.bounds[i].limiter != y.bounds[i].limiter || x.bounds[i].ns != y.bounds[i].ns)
        return false;
    return true;
  };
  const Roofline modelled = roofline(kCountedProblem, kTiledVariant, gpu());
  EXPECT_TRUE(same(with_counted(modelled, {}, gpu()), modelled));
  const CountedBytes counted = {.memory = 1e9, .shared = 1e9};
  const Roofline bare = roofline(kCountedProblem, kTiledVariant, {});
  EXPECT_TRUE(same(with_counted(bare, counted, {}), bare));
  Variant naive;
  const Roofline unstaged = roofline(kCountedProblem, naive, gpu());
  EXPECT_EQ(bound(with_counted(unstaged, counted, gpu()), "memory:shared"), 0)
      << "the kernel uses no shared memory";
}

}  // namespace
}  // namespace rooftile
