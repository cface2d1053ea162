// Runs a whole calibration of the device, and checks which rates it measures, not their values.
#include "tuner/calibrate/calibrate.h"

#include <gmock/gmock.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmath>
#include <cstdlib>
#include <thread>

#include "runtime/host/host_blas.h"
#include "runtime/model/calibration.h"

namespace rooftile {
namespace {

const DeviceProfile& first_device() {
  static const Enumeration found = enumerate_devices();
  if (found.devices.empty()) {
    ADD_FAILURE() << "no Vulkan device: " << found.note;
    std::exit(1);
  }
  return found.devices.front();
}

const Figure* find(const std::vector<Figure>& figures, std::string_view name) {
  const auto found = std::ranges::find(figures, name, &Figure::name);
  return found == figures.end() ? nullptr : &*found;
}

void expect_values_spreads_and_counts(const std::vector<Figure>& figures) {
  for (const Figure& figure : figures) {
    EXPECT_TRUE(std::isfinite(figure.value) && figure.value >= 0) << figure.name;
    EXPECT_TRUE(std::isfinite(figure.mad) && figure.mad >= 0) << figure.name;
    EXPECT_GE(figure.count, 1u) << figure.name;
    EXPECT_EQ(std::ranges::count(figures, figure.name, &Figure::name), 1) << figure.name;
  }
}

void expect_what_the_model_asks_for(const std::vector<Figure>& figures) {
  const DeviceLimits& limits = first_device().limits;
  std::vector<std::string> wanted = {"device.submit",
                                     "device.dispatch",
                                     "device.fma.f32",
                                     "device.fma.synchronised",
                                     "device.compute_units",
                                     "device.shared",
                                     "device.load.buffer.scalar",
                                     "device.load.latency",
                                     "device.load.buffer.vector",
                                     "device.upload",
                                     "device.download",
                                     "device.fetch",
                                     "device.stream.copy",
                                     "device.stream.scale",
                                     "device.stream.add",
                                     "device.stream.triad",
                                     "device.stream.read",
                                     "device.level.memory.bandwidth",
                                     "device.workgroup",
                                     "device.workgroup.synchronised",
                                     "device.barrier",
                                     "device.store.buffer.scalar",
                                     "device.store.buffer.vector",
                                     "device.store.c.scalar",
                                     "device.store.c.vector"};
  if (limits.float16_arithmetic) wanted.push_back("device.fma.f16");
  if (limits.float64_arithmetic) wanted.push_back("device.fma.f64");
  if (limits.integer_dot_product) wanted.push_back("device.dot.i8");
  if (limits.subgroup_broadcast && limits.subgroup_size >= 4) wanted.push_back("device.broadcast");
  if (limits.texel_buffer_rgba32) wanted.push_back("device.load.texel.vector");
  if (limits.host_import_alignment_bytes > 0)
    wanted.insert(wanted.end(), {"device.import.least", "device.import.upload"});
  const Figure* const overlap = find(figures, "device.overlap");
  ASSERT_NE(overlap, nullptr);
  EXPECT_LE(overlap->value, 1);
  for (const std::string& name : wanted)
    EXPECT_TRUE(find(figures, name) != nullptr && find(figures, name)->value > 0) << name;
}

void expect_levels(const std::vector<Figure>& figures) {
  const DeviceRates rates = calibration_from_figures(figures).device;
  ASSERT_FALSE(rates.levels.empty());
  for (std::size_t i = 0; i + 1 < rates.levels.size(); ++i) {
    EXPECT_LT(rates.levels[i].footprint_bytes, rates.levels[i + 1].footprint_bytes);
    EXPECT_EQ(rates.levels[i].name, level_name(i, rates.levels.size()));
  }
  EXPECT_EQ(rates.levels.back().name, "memory");
  // A level's rate is that of its fastest kernel, so no kernel exceeds it.
  for (const std::string kernel : {"copy", "scale", "add", "triad", "read"})
    EXPECT_LE(find(figures, "device.stream." + kernel)->value, memory_gbps(rates)) << kernel;
  // Rates of loads from a small window belong to the nearest cache.
  const bool on_processor = first_device().kind == DeviceKind::kSoftware;
  if (rates.levels.size() > 1 && on_processor) {
    EXPECT_GE(cache_gbps(rates),
              16 * std::max(rates.buffer_vector_loads_per_ns, rates.texel_vector_loads_per_ns));
  }
  EXPECT_GE(rates.compute_units, 1);
  EXPECT_EQ(rates.compute_units, std::round(rates.compute_units));
}

// This is a single test, because a calibration takes seconds even with a minimal time limit.
TEST(CalibrateDevice, MeasuresEveryRateWithinAnyTimeBudget) {
  FullClocks clocks(Device::open(first_device()));
  const Calibrated device = calibrate_device(clocks, 0);
  expect_values_spreads_and_counts(device.figures);
  expect_what_the_model_asks_for(device.figures);
  expect_levels(device.figures);
  std::vector<std::string> parts;
  for (const CalibrationPart& part : device.parts) parts.push_back(part.name);
  EXPECT_THAT(parts,
              testing::ElementsAre("device kernels", "device memory levels", "device rounds"));
}

// Each pair of types that the device lists has a rate.
TEST(CalibrateDevice, MeasuresMatrixUnits) {
  const std::vector<MatrixShape>& shapes = first_device().limits.matrix_shapes;
  if (shapes.empty()) GTEST_SKIP() << "the device has no matrix units";
  FullClocks clocks(Device::open(first_device()));
  std::vector<std::string> measured;
  for (const MatrixShape& shape : shapes) {
    const std::string wanted = matrix_figure(shape.operand, shape.sum);
    if (std::ranges::find(measured, wanted) != measured.end()) continue;
    const Figure figure = calibrate_matrix_unit(clocks, shape, 1);
    EXPECT_EQ(figure.name, wanted);
    EXPECT_GT(figure.value, 0);
    measured.push_back(wanted);
  }
}

TEST(CalibrateHost, StopsWithoutResultsWhenInterrupted) {
  const std::atomic<bool> stop = true;
  EXPECT_TRUE(calibrate_host(stop).figures.empty());
}

void expect_peaks_of_both_host_tiers(const std::vector<Figure>& figures) {
  for (const std::string peak : {"stream.copy", "stream.scale", "stream.add", "bandwidth", "fma"})
    for (const char* tier : {"threads", "single"}) {
      const Figure* const figure = find(figures, "host." + peak + "." + tier);
      ASSERT_NE(figure, nullptr) << peak << " " << tier;
      EXPECT_GT(figure->value, 0) << figure->name;
    }
}

void expect_rates_of_each_tier(const std::vector<Figure>& figures) {
  const Calibration c = calibration_from_figures(figures);
  const std::size_t points = host_calibration_problems().size();
  EXPECT_EQ(c.host1.gemm.size(), c.host.gemm.size());
  EXPECT_EQ(c.host1.gemv.size(), c.host.gemv.size());
  for (const HostRates& rates : {c.host, c.host1, c.host64}) {
    EXPECT_GE(rates.gemm.size() + rates.gemv.size(), points / 8);
    EXPECT_FALSE(rates.gemv.empty());
    EXPECT_GT(rates.call_ns, 0);
    EXPECT_GT(rates.gbps, 0);
  }
}

/// Programs that use one processor each.
class BusyPrograms {
 public:
  explicit BusyPrograms(unsigned count) {
    for (unsigned i = 0; i < count; ++i) {
      const char* const arguments[] = {"sh", "-c", "while :; do :; done", nullptr};
      pid_t child = 0;
      if (::posix_spawnp(&child, "sh", nullptr, nullptr, const_cast<char* const*>(arguments),
                         environ) == 0)
        children_.push_back(child);
    }
  }
  ~BusyPrograms() {
    for (const pid_t child : children_) {
      ::kill(child, SIGKILL);
      ::waitpid(child, nullptr, 0);
    }
  }
  BusyPrograms(const BusyPrograms&) = delete;
  BusyPrograms& operator=(const BusyPrograms&) = delete;
  std::size_t count() const { return children_.size(); }

 private:
  std::vector<pid_t> children_;
};

void expect_all_threads_no_slower_than_one(const std::vector<Figure>& figures) {
  int compared = 0;
  for (const Figure& figure : figures) {
    const std::string prefix = "host.gemm.threads.";
    if (!figure.name.starts_with(prefix)) continue;
    const Figure* const single =
        find(figures, "host.gemm.single." + figure.name.substr(prefix.size()));
    ASSERT_NE(single, nullptr) << figure.name;
    EXPECT_GE(figure.value, single->value) << figure.name;
    ++compared;
  }
  EXPECT_GT(compared, 0);
}

// On a machine that is too slow for the time limit, the model has fewer points for every tier. A
// calibration takes seconds even so, and this is all that is said of one.
TEST(CalibrateHost, MeasuresEachTierWithinAnyTimeBudgetAlsoBesideBusyPrograms) {
  const BusyPrograms busy(std::thread::hardware_concurrency());
  ASSERT_GT(busy.count(), 0U);
  const std::atomic<bool> stop = false;
  const Calibrated host = calibrate_host(stop, 0);
  expect_values_spreads_and_counts(host.figures);
  expect_peaks_of_both_host_tiers(host.figures);
  expect_rates_of_each_tier(host.figures);
  if (HostBlas::get().threads() < 2) return;  // One processor has no all threads.
  EXPECT_TRUE(host.processors_busy);
  expect_all_threads_no_slower_than_one(host.figures);
}

}  // namespace
}  // namespace rooftile
