// Bytes, intensities and bounds in a report equal those of the model.
#include "report/levels.h"

#include <gmock/gmock.h>

#include "cli/runtime_view.h"
#include "report/report.h"
#include "tests/db/store_fixture.h"
#include "tests/report/simulated_machine.h"

namespace rooftile {
namespace {

using ::testing::Contains;
using ::testing::Field;
using ::testing::IsEmpty;
using ::testing::SizeIs;

const LevelReport& level(const ProblemReport& p, const char* name) {
  const auto found = std::ranges::find(p.levels, name, &LevelReport::level);
  if (found == p.levels.end()) throw std::runtime_error(std::string("no level ") + name);
  return *found;
}

/// One kernel of 64 x 64 tiles, 4 x 4 registers and shared memory on 1000 x 1200 x 800, in 500 us.
class LevelsTest : public StoreTest {
 protected:
  static constexpr double kKernelNs = 500e3, kFlops = 2.0 * 1000 * 1200 * 800;

  LevelsTest() : store_(file()) {
    const RowId device = store_.device_id(example_device());
    rates_.compute_units = 24;
    store_.add_calibration(
        device, to_figures({.device = rates_,
                            .host = {.call_ns = 100, .gbps = 20, .gemm = {{512, 512, 512, 100}}}}));
    CandidateRecord kernel = example_candidate("kernel", 64);
    kernel.variant.tile_n = 64;
    kernel.variant.reg_n = 4;
    kernel.id = store_.candidate_id(kernel);
    const std::vector<WinnerRecord> ranked = {{.candidate = kernel.id,
                                               .problem = store_.problem_id(problem_),
                                               .rank = 0,
                                               .kernel_ns = kKernelNs}};
    store_.put_winners(device, to_string(bucket_of(problem_)), ranked);
    store_.put_certificate(device, kernel.id, "1.0", true, "");
  }
  DeviceReport device() const {
    RuntimeView view = runtime_view();
    view.generator_version = "1.0";
    return make_report(store_, view).devices.at(0);
  }

  Store store_;
  const Problem problem_ = packed_problem(1000, 1200, 800);
  DeviceRates rates_ = simulated_rates(5);
};

TEST_F(LevelsTest, BytesAreThoseOfTheTileLoop) {
  const ProblemReport p = device().problems.at(0);
  const double a = 1000.0 * 800 * 4, b = 800.0 * 1200 * 4, c = 1000.0 * 1200 * 4;
  EXPECT_DOUBLE_EQ(level(p, "memory").bytes, a + b + c);
  EXPECT_DOUBLE_EQ(level(p, "cache").bytes, a * 19 + b * 16 + c);
  EXPECT_DOUBLE_EQ(level(p, "shared").bytes, a * 300 + b * 250 + c);
  for (const LevelReport& at : p.levels) EXPECT_DOUBLE_EQ(at.intensity, kFlops / at.bytes);
}

TEST_F(LevelsTest, BoundsAreBytesOverRates) {
  const ProblemReport p = device().problems.at(0);
  EXPECT_DOUBLE_EQ(level(p, "memory").bound_ns, level(p, "memory").bytes / 500);
  EXPECT_DOUBLE_EQ(level(p, "cache").bound_ns, level(p, "cache").bytes / 2000);
  EXPECT_DOUBLE_EQ(level(p, "shared").bound_ns, level(p, "shared").bytes / 7500);
  EXPECT_DOUBLE_EQ(level(p, "shared").gflops, kFlops / kKernelNs);
  EXPECT_EQ(p.largest_bound(), "math");
  EXPECT_EQ(p.next_limiter(), "memory:shared");
  EXPECT_NEAR(p.headroom.over_bound, kKernelNs / 384000, 1e-9);
}

// There are three levels. Blocks come from the nearest cache, and each operand comes once from the
// next level, which is the bound for operands that fit there.
TEST_F(LevelsTest, EveryCacheIsALevel) {
  rates_.levels[1].footprint_bytes = 64e6;
  store_.add_calibration(store_.device_id(example_device()), to_figures({.device = rates_}));
  const DeviceReport report = device();
  const ProblemReport& p = report.problems.at(0);
  EXPECT_DOUBLE_EQ(level(p, "cache2").bytes, level(p, "memory").bytes);
  EXPECT_DOUBLE_EQ(level(p, "cache2").gbps, 1000);
  EXPECT_DOUBLE_EQ(level(p, "cache2").bound_ns, level(p, "cache2").bytes / 1000);
  EXPECT_EQ(level(p, "memory").bound_ns, 0);
  EXPECT_GT(level(p, "cache").bytes, level(p, "cache2").bytes);
  std::vector<std::string> roofs;
  for (const LevelReport& roof : level_roofs(rates_)) roofs.push_back(roof.level);
  EXPECT_THAT(roofs, testing::ElementsAre("memory", "cache2", "cache", "shared", "link"));
}

TEST_F(LevelsTest, TheLinkCountsTheWholeCall) {
  const ProblemReport p = device().problems.at(0);
  const double up_ns = (1000.0 * 800 + 800 * 1200) * 4 / 12, down_ns = 1000.0 * 1200 * 4 / 11;
  const LevelReport& link = level(p, "link");
  EXPECT_NEAR(link.bound_ns, up_ns + down_ns, 1e-6);
  EXPECT_NEAR(link.gflops, kFlops / (20e3 + up_ns + kKernelNs + down_ns), 1e-6);
  EXPECT_LE(link.gflops, link.intensity * link.gbps) << "no call is above its roof";
  EXPECT_NEAR(p.call_ns, 20e3 + up_ns + kKernelNs + down_ns, 1e-3);
}

TEST_F(LevelsTest, DataThatFitsTheCacheDoesNotCountForDeviceMemory) {
  rates_.levels.front().footprint_bytes = 64e6;
  store_.add_calibration(1, to_figures({.device = rates_}));
  const ProblemReport p = device().problems.at(0);
  EXPECT_EQ(level(p, "memory").bound_ns, 0);
  EXPECT_GT(level(p, "cache").bound_ns, 0);
}

TEST_F(LevelsTest, WithoutACalibrationThereAreBytesAndNoBounds) {
  Store bare(folder_ / "bare.db");
  const RowId device = bare.device_id(example_device());
  const CandidateRecord kernel = example_candidate("kernel");
  const RowId id = bare.candidate_id(kernel);
  const std::vector<WinnerRecord> ranked = {
      {.candidate = id, .problem = bare.problem_id(problem_), .rank = 0, .kernel_ns = 9}};
  bare.put_winners(device, to_string(bucket_of(problem_)), ranked);
  bare.put_certificate(device, id, "1.0", true, "");
  RuntimeView view = runtime_view();
  view.generator_version = "1.0";
  const DeviceReport report = make_report(bare, view).devices.at(0);
  const ProblemReport& p = report.problems.at(0);
  EXPECT_EQ(p.limiter_name(), "");
  EXPECT_THAT(p.levels, SizeIs(3)) << "the link has no measured rates";
  EXPECT_GT(level(p, "cache").bytes, 0);
  EXPECT_EQ(level(p, "cache").bound_ns, 0);
  EXPECT_THAT(report.level_roofs, IsEmpty());
  EXPECT_THAT(report.math_roofs, IsEmpty());
}

TEST_F(LevelsTest, RoofsAreTheCalibratedRates) {
  const DeviceReport report = device();
  EXPECT_THAT(report.level_roofs, SizeIs(5));
  EXPECT_THAT(report.level_roofs, Contains(Field(&LevelReport::gbps, 12.0)))
      << "the link's rate is that of the faster direction";
  ASSERT_THAT(report.math_roofs, SizeIs(1));
  EXPECT_EQ(report.math_roofs[0].type, "f32");
  EXPECT_DOUBLE_EQ(report.math_roofs[0].gflops, 5000);
}

}  // namespace
}  // namespace rooftile
