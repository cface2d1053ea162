#include "runtime/model/calibration.h"

#include <gmock/gmock.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <set>
#include <tuple>

#include "tests/model/random_inputs.h"
#include "tests/support/with.h"

namespace rooftile {
namespace {

RC_GTEST_PROP(Calibration, IsRestoredFromMeasurementsInAnyOrder, ()) {
  const Calibration c = random_calibration();
  std::vector<Figure> figures = to_figures(c);
  // Host points keep the order of their measurements; levels are sorted.
  const bool memory_first = *rc::gen::arbitrary<bool>();
  std::stable_partition(figures.begin(), figures.end(), [&](const Figure& f) {
    return f.name.starts_with("device.level.memory") == memory_first;
  });
  RC_ASSERT(calibration_from_figures(figures) == c);
}

TEST(Calibration, IgnoresUnknownMeasurements) {
  const std::vector<Figure> figures = {
      {.name = "device.submit", .unit = "ns", .value = 40000},
      {.name = "device.phase_of_the_moon", .unit = "rad", .value = 1},
      {.name = "host.handover", .unit = "ns", .value = 300},  // of older databases
      {.name = "device.level.memory.colour", .unit = "", .value = 1},
      {.name = "host.gemm.threads.64x64", .unit = "gflops", .value = 1},
      {.name = "host.gemm.threads.64x64x64x64", .unit = "gflops", .value = 1},
      {.name = "host.gemm.threads.axbxc", .unit = "gflops", .value = 1},
      {.name = "host.gemm.unknown.64x64x64", .unit = "gflops", .value = 1},
      {.name = "host.gemm.single.3x50x7", .unit = "gflops", .value = 2}};
  const Calibration c = calibration_from_figures(figures);
  EXPECT_EQ(c.device, DeviceRates{.submit_ns = 40000});
  EXPECT_EQ(c.host, HostRates{});
  EXPECT_EQ(c.host64, HostRates{});
  EXPECT_THAT(c.host1.gemm, testing::ElementsAre(HostPoint{.m = 3, .n = 50, .k = 7, .gflops = 2}));
}

TEST(Calibration, NamesItsUnits) {
  const Calibration c{
      .device = {.submit_ns = 1, .fma_gflops = 2},
      .host = {.call_ns = 3, .gbps = 4, .gemm = {{5, 6, 7, 8}}, .gemv = {{1, 6, 7, 9}}},
      .host1 = {},
      .host64 = {}};
  std::vector<std::pair<std::string, std::string>> names;
  for (const Figure& f : to_figures(c)) names.emplace_back(f.name, f.unit);
  EXPECT_THAT(names,
              testing::UnorderedElementsAre(
                  std::pair("device.submit", "ns"), std::pair("device.fma.f32", "gflops"),
                  std::pair("device.compute_units", "count"), std::pair("host.call.threads", "ns"),
                  std::pair("host.bandwidth.threads", "gbps"),
                  std::pair("host.gemm.threads.5x6x7", "gflops"),
                  std::pair("host.gemm.threads.vector.1x6x7", "gflops")));
}

TEST(Calibration, NeedsSubmitTimeArithmeticAndMemory) {
  const DeviceRates whole{
      .submit_ns = 1, .fma_gflops = 1, .levels = {{.name = "memory", .gbps = 1}}};
  EXPECT_TRUE(is_calibrated(whole));
  EXPECT_FALSE(is_calibrated(with(whole, [&](auto& x) { x.submit_ns = 0; })));
  EXPECT_FALSE(is_calibrated(with(whole, [&](auto& x) { x.fma_gflops = 0; })));
  EXPECT_FALSE(is_calibrated(with(whole, [&](auto& x) { x.levels.clear(); })));
  EXPECT_FALSE(is_calibrated(HostRates{.call_ns = 1, .gbps = 1}));
}

TEST(Calibration, RatiosAreDeviceOverHost) {
  const Calibration c{
      .device = {.submit_ns = 40000,
                 .fma_gflops = 15110,
                 .levels = {{.name = "cache", .gbps = 900, .footprint_bytes = 1e6},
                            {.name = "memory", .gbps = 272}}},
      .host = {.call_ns = 400, .gbps = 50, .gemm = {{64, 64, 64, 50}, {512, 512, 512, 200}}},
      .host1 = {},
      .host64 = {}};
  const CalibrationRatios ratios = calibration_ratios(c);
  EXPECT_DOUBLE_EQ(ratios.compute, 75.55);  // the published example's "75x compute advantage"
  EXPECT_DOUBLE_EQ(ratios.bandwidth, 5.44);
  EXPECT_DOUBLE_EQ(ratios.latency, 0.01);
}

TEST(Calibration, FootprintSelectsTheMemoryLevel) {
  const DeviceRates rates{.levels = {{.name = "cache", .gbps = 900, .footprint_bytes = 1e6},
                                     {.name = "memory", .gbps = 272}}};
  EXPECT_EQ(gbps_for_footprint(rates, 1e6), 900);
  EXPECT_EQ(gbps_for_footprint(rates, 1e6 + 1), 272);
  EXPECT_EQ(memory_gbps(rates), 272);
  EXPECT_EQ(memory_gbps({}), 0);
}

TEST(HostCalibrationProblems, AreDistinctAndBoundedAndCoverEveryCorner) {
  const std::vector<Problem> problems = host_calibration_problems();
  EXPECT_LE(problems.size(), 300u);
  std::set<std::tuple<std::int64_t, std::int64_t, std::int64_t>> distinct;
  bool tiny = false, thin_m = false, thin_n = false, thin_k = false;
  for (const Problem& p : problems) {
    EXPECT_NO_THROW(validate(p));
    EXPECT_LE(flops(p), 2.2e9) << to_string(p);
    distinct.emplace(p.m, p.n, p.k);
    tiny |= p.m * p.n * p.k == 1;
    thin_m |= p.m == 1 && p.n >= 4096 && p.k >= 4096;
    thin_n |= p.n == 1 && p.m >= 4096 && p.k >= 4096;
    thin_k |= p.k == 1 && p.m >= 4096 && p.n >= 4096;
  }
  EXPECT_EQ(distinct.size(), problems.size());
  EXPECT_TRUE(tiny && thin_m && thin_n && thin_k);
  EXPECT_TRUE(std::ranges::is_sorted(problems, {}, flops));
}

}  // namespace
}  // namespace rooftile
