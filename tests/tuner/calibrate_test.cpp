// A whole calibration of the device: what is measured, not how fast this machine is.
#include "tuner/calibrate.h"

#include <gmock/gmock.h>

#include <cmath>
#include <cstdlib>

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
                                     "device.compute_units",
                                     "device.shared",
                                     "device.load.buffer.scalar",
                                     "device.load.latency",
                                     "device.load.buffer.vector",
                                     "device.upload",
                                     "device.download",
                                     "device.stream.copy",
                                     "device.stream.scale",
                                     "device.stream.add",
                                     "device.stream.triad",
                                     "device.stream.read",
                                     "device.level.memory.bandwidth",
                                     "device.workgroup",
                                     "device.barrier",
                                     "device.store.buffer.scalar",
                                     "device.store.buffer.vector"};
  if (limits.float16_arithmetic) wanted.push_back("device.fma.f16");
  if (limits.integer_dot_product) wanted.push_back("device.dot.i8");
  if (limits.subgroup_broadcast && limits.subgroup_size >= 4) wanted.push_back("device.broadcast");
  if (limits.texel_buffer_rgba32) wanted.push_back("device.load.texel.vector");
  if (limits.host_import_alignment_bytes > 0) wanted.push_back("device.import.upload");
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
  // A level's rate is the best of its kernels: none of them is above.
  for (const std::string kernel : {"copy", "scale", "add", "triad", "read"})
    EXPECT_LE(find(figures, "device.stream." + kernel)->value, memory_gbps(rates)) << kernel;
  EXPECT_GE(rates.compute_units, 1);
  EXPECT_EQ(rates.compute_units, std::round(rates.compute_units));
}

// One test: a calibration takes seconds.
TEST(CalibrateDevice, MeasuresAll) {
  const std::vector<Figure> figures = calibrate_device(Device::open(first_device()));
  expect_values_spreads_and_counts(figures);
  expect_what_the_model_asks_for(figures);
  expect_levels(figures);
}

TEST(CalibrateHost, PeaksOfBothTiers) {
  const std::atomic<bool> stop = false;
  const std::vector<Figure> peaks = calibrate_host_peaks(stop);
  std::vector<std::string> names;
  for (const Figure& figure : peaks) {
    names.push_back(figure.name);
    EXPECT_GT(figure.value, 0) << figure.name;
    EXPECT_GE(figure.count, 3u) << figure.name;
  }
  EXPECT_THAT(names, testing::IsSupersetOf({"host.stream.copy.threads", "host.stream.scale.single",
                                            "host.stream.add.threads", "host.bandwidth.single",
                                            "host.bandwidth.threads", "host.fma.threads",
                                            "host.fma.single"}));
  const std::atomic<bool> stopped = true;
  EXPECT_TRUE(calibrate_host_peaks(stopped).empty());
}

}  // namespace
}  // namespace rooftile
