// The page's charts show what the runtime would do, and their size is bounded for every database.
#include "report/charts.h"

#include <gmock/gmock.h>

#include "cli/runtime_view.h"
#include "tests/db/store_fixture.h"
#include "tests/report/simulated_machine.h"

namespace rooftile {
namespace {

using ::testing::Each;
using ::testing::Ge;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class ChartsTest : public StoreTest {
 protected:
  Charts charts(const Store& store) const {
    return make_charts(store, runtime_view(), make_report(store, runtime_view()));
  }
};

TEST_F(ChartsTest, SearchCurveIsTheFastestTimeSoFar) {
  Store store(file());
  simulate(store, {.problems = 2, .samples = 50});
  const DeviceCharts device = charts(store).devices.at(0);
  EXPECT_EQ(device.samples, 100u);
  ASSERT_THAT(device.searches, SizeIs(2));
  for (const SearchReport& search : device.searches) {
    const std::vector<SearchStep>& steps = search.curve.steps;
    ASSERT_THAT(steps, SizeIs(Ge(2u)));
    EXPECT_EQ(steps.front().sample, 1u);
    for (std::size_t i = 1; i < steps.size(); ++i) {
      EXPECT_LT(steps[i].ns, steps[i - 1].ns);
      EXPECT_GT(steps[i].sample, steps[i - 1].sample);
    }
    const RowId problem = device.device.problems.at(search.problem).problem_row;
    double fastest = std::numeric_limits<double>::infinity();
    for (const SampleRecord& sample : store.samples(device.device.row, problem))
      fastest = std::min(fastest, sample.kernel.median_ns + sample.pack_ns);
    EXPECT_DOUBLE_EQ(steps.back().ns, fastest);
  }
}

TEST_F(ChartsTest, FailedSamplesCountButAreNeverTheFastest) {
  Store store(file());
  const RowId device = simulate(store, {.problems = 1, .samples = 5});
  const RowId problem = store.find_problem(store.tuned_kernels(device, "2").at(0).problem).value();
  const RowId run = store.begin_run(device, "2", "{}");
  SampleRecord sample = measured(run, 1, problem, 1);
  sample.status = SampleStatus::kCrashed;
  store.add_sample(sample);
  const DeviceCharts report = charts(store).devices.at(0);
  EXPECT_EQ(report.failed, 1u);
  ASSERT_THAT(report.searches, SizeIs(2)) << "one search per run";
  EXPECT_THAT(report.searches[1].curve.steps, IsEmpty());
  EXPECT_EQ(report.searches[1].curve.failed, 1u);
}

TEST_F(ChartsTest, KernelMapShowsTheRuntimesChoice) {
  Store store(file());
  const RowId row = simulate(store, {.problems = 4, .samples = 5});
  const Charts all = charts(store);
  const DeviceCharts& device = all.devices.at(0);
  ASSERT_THAT(device.classes, SizeIs(2));
  EXPECT_EQ(device.classes[0].signature, "f32.nn");
  EXPECT_EQ(device.classes[0].tuned, 3u);
  const KernelMap& map = device.classes[0].map;
  ASSERT_EQ(map.cells.size(), map.sizes.size() * map.sizes.size() * map.depths.size());
  std::vector<TunedKernel> kernels;
  for (const TunedKernel& kernel : store.tuned_kernels(row, "2"))
    if (kernel.candidate.signature == "f32.nn") kernels.push_back(kernel);
  const RuntimeView view = runtime_view();
  const auto choice = view.kernels(device.device.profile, device.device.calibration.device, kernels,
                                   store.portfolio(row, "2"));
  for (std::size_t i = 0; i < map.cells.size(); i += 37) {
    const std::size_t side = map.sizes.size();
    const auto chosen = choice->choose(packed_problem(
        map.sizes[i % side], map.sizes[i / side % side], map.depths[i / side / side]));
    ASSERT_TRUE(chosen.has_value());
    EXPECT_EQ(map.kernels.at(static_cast<std::size_t>(map.cells[i].kernel)), chosen->kernel);
    EXPECT_EQ(map.cells[i].ns, chosen->ns);
  }
}

TEST_F(ChartsTest, FactorsOfTheBoundaryMultiplyToTheScore) {
  Store store(file());
  simulate(store, {.problems = 2, .samples = 5});
  const Boundary line = charts(store).devices.at(0).classes.at(0).boundary;
  ASSERT_EQ(line.points.size(), line.sizes.size() * line.depths.size());
  EXPECT_EQ(line.sizes.front(), 1);
  EXPECT_EQ(line.sizes.back(), 8192);
  std::size_t on_device = 0;
  for (const Decision& point : line.points) {
    double product = 1, ns = 0;
    for (const Factor& factor : point.factors) {
      product *= factor.value;
      ns += factor.ns;
    }
    EXPECT_NEAR(product, point.score, 1e-9 * point.score);
    EXPECT_NEAR(ns, point.device_ns - point.best_host_ns, 1e-6 * point.device_ns);
    if (point.tier == Tier::kDevice) ++on_device;
  }
  EXPECT_GT(on_device, 0u) << "a fast device gets some calls";
  EXPECT_LT(on_device, line.points.size()) << "the host gets the smallest calls";
}

TEST_F(ChartsTest, WithoutACalibrationThereAreNoMaps) {
  Store store(file());
  simulate(store, {.problems = 2, .samples = 5, .calibrations = 0});
  EXPECT_THAT(charts(store).devices.at(0).classes, IsEmpty());
}

TEST_F(ChartsTest, PointsOutsideTheChartAreCounted) {
  Store store(file());
  Store::Transaction transaction(store);
  for (int i = 0; i < 20; ++i)
    simulate(store, {.uuid = "uuid" + std::to_string(i), .problems = 0, .calibrations = 0});
  transaction.commit();
  simulate(store, {.problems = 320, .samples = 1});
  const Charts all = charts(store);
  EXPECT_GT(all.devices_left_out, 0u);
  EXPECT_EQ(all.devices_left_out, 21 - all.devices.size());
  ASSERT_FALSE(all.devices.empty());
  const DeviceCharts& tuned = all.devices.front();
  EXPECT_EQ(tuned.device.profile.device_uuid, Simulation().uuid) << "tuned devices come first";
  EXPECT_EQ(tuned.device.problems.size() + tuned.problems_left_out, 320u);
  EXPECT_GT(tuned.problems_left_out, 0u);
  const Report report = make_report(store, runtime_view());
  const auto& problems = report.devices.back().problems;
  EXPECT_EQ(tuned.device.problems.back().problem, problems.back().problem) << "the largest stay";
}

}  // namespace
}  // namespace rooftile
