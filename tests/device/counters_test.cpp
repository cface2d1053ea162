// Counters of a fake driver layer on top of the real device (tests/support/counting_driver.h).
#include "runtime/device/counters.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "core/error.h"
#include "tests/support/compile_shader.h"
#include "tests/support/counting_driver.h"
#include "tests/support/faulty_driver.h"
#include "tests/support/first_device.h"
#include "tests/support/refusal.h"

namespace rooftile {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using Fault = CountingDriver::Fault;

constexpr double kPatience_ns = 60e9;

class CountersTest : public ::testing::Test {
 protected:
  void TearDown() override {
    steps_.clear();
    device_.reset();
    CountingDriver::set(Fault::kNone);
    CountingDriver::set_more_counters(0);
    EXPECT_EQ(CountingDriver::locks_held(), 0);
    EXPECT_EQ(CountingDriver::query_pools(), 0);
    EXPECT_THAT(CountingDriver::violations(), IsEmpty());
  }

  /// A device with counters, and steps of 3 x 2 + 5 workgroups.
  void open(CounterQueries counters = CounterQueries::kOn) {
    device_ = Device::open(profile_, {.counter_queries = counters});
    pipeline_ = device_->create_pipeline(compile_shader(R"(
        layout(local_size_x = 8) in;
        layout(binding = 0) buffer Y { float y[]; };
        void main() { y[gl_GlobalInvocationID.x] += 1; })"),
                                         {.bindings = {BindingKind::kStorageBuffer}});
    buffer_ = device_->create_buffer(40 * sizeof(float), BufferUse::kUpload);
    std::fill_n(static_cast<float*>(buffer_.mapped()), 40, 0.0f);
    steps_ = {DispatchStep{.pipeline = &pipeline_, .bindings = {{&buffer_}}, .groups = {3, 2, 1}},
              BarrierStep{},
              DispatchStep{.pipeline = &pipeline_, .bindings = {{&buffer_}}, .groups = {5, 1, 1}}};
  }
  CounterReadings count(const CounterChoice& choice = {}) {
    return device_->count(steps_, choice, kPatience_ns);
  }

  DeviceProfile profile_ = first_device();
  std::shared_ptr<Device> device_;
  Pipeline pipeline_;
  Buffer buffer_;
  std::vector<Step> steps_;
};

std::vector<std::string> names(const std::vector<PerformanceCounter>& counters) {
  std::vector<std::string> names;
  for (const PerformanceCounter& counter : counters) names.push_back(counter.name);
  return names;
}

TEST_F(CountersTest, CountersThatCanBeReadAroundDispatchesAreListed) {
  const std::vector<PerformanceCounter> counters = performance_counters(profile_);
  EXPECT_THAT(names(counters),
              ElementsAre("Waves", "VALU Busy", "GPU active cycles", "Hits of nothing",
                          "VRAM read size", "VRAM write size", "Headroom"))
      << "counters of render passes are not available";
  EXPECT_EQ(counters[2], (PerformanceCounter{.name = "GPU active cycles",
                                             .category = "GRBM",
                                             .description = "what GPU active cycles",
                                             .unit = "cycles",
                                             .scope = "command buffer"}));
  EXPECT_EQ(CountingDriver::locks_taken(), 0);
}

TEST_F(CountersTest, EveryCounterIsReadInItsPassAndByItsStorage) {
  open();
  const CounterReadings readings = count();
  EXPECT_EQ(readings.passes, 4u) << "seven counters, two per pass";
  EXPECT_THAT(names(readings.counters),
              ElementsAre("Waves", "VALU Busy", "GPU active cycles", "VRAM read size",
                          "VRAM write size", "Headroom"))
      << "a ratio with denominator 0 has no value";
  std::vector<double> values;
  for (const PerformanceCounter& counter : readings.counters) values.push_back(counter.value);
  EXPECT_THAT(values, ElementsAre(11, 87.5, 11 * kCountedCycles, 11 * kCountedReadBytes,
                                  11 * kCountedWrittenBytes, -40));
  EXPECT_EQ(static_cast<const float*>(buffer_.mapped())[0], 4 * (2 + 1))
      << "the steps run once per pass";
  EXPECT_EQ(CountingDriver::locks_taken(), 1);
  count();
  EXPECT_EQ(CountingDriver::locks_taken(), 2) << "the lock is held only during counting";
}

TEST_F(CountersTest, DispatchesBeforeAPassAreNotCounted) {
  open();
  CommandList before = device_->record(std::vector<Step>{steps_.back()});
  const CounterReadings readings = device_->count(steps_, {}, kPatience_ns, &before);
  EXPECT_EQ(readings.counters.front().value, 11);
  EXPECT_EQ(static_cast<const float*>(buffer_.mapped())[0], 4 * (2 + 1 + 1));
}

TEST_F(CountersTest, TheFirstOfTheWantedCountersGoIntoTheirPasses) {
  CountingDriver::set_more_counters(100);
  open();
  EXPECT_EQ(count().passes, 16u) << "counters beyond the largest number of passes are left out";
  const auto wanted = [](const PerformanceCounter& c) {
    return c.name == "VRAM write size" || c.name == "Counter 107";
  };
  const CounterReadings few = count({.first = wanted, .most_passes = 2});
  EXPECT_EQ(few.passes, 2u);
  EXPECT_THAT(names(few.counters), ElementsAre("Waves", "VRAM write size", "Counter 107"))
      << "in the driver's order, with counters that fit into the same passes";
}

TEST_F(CountersTest, NothingIsCountedUnlessTheDeviceWasOpenedForIt) {
  open(CounterQueries::kOff);
  EXPECT_EQ(error_of([&] { count(); }).code(), ErrorCode::kUnsupported);
}

TEST_F(CountersTest, ADriverWithoutTheExtensionHasNone) {
  CountingDriver::set(Fault::kAbsent);
  EXPECT_THAT(performance_counters(profile_), IsEmpty());
  open();
  EXPECT_EQ(error_of([&] { count(); }).code(), ErrorCode::kUnsupported);
  CommandList list = device_->record(steps_);
  EXPECT_GT(device_->run(list, kPatience_ns).wall_ns, 0);
}

TEST_F(CountersTest, FailedReadsLeaveAUsableDevice) {
  open();
  for (const auto& [fault, says] : {std::pair(Fault::kLockRefused, "perf_stream_paranoid"),
                                    std::pair(Fault::kNotReady, "no result of a finished count")}) {
    CountingDriver::set(fault);
    const Error error = error_of([&] { count(); });
    EXPECT_EQ(error.code(), ErrorCode::kUnsupported) << error.what();
    EXPECT_THAT(error.what(), HasSubstr(says));
    EXPECT_FALSE(device_->lost());
  }
  CountingDriver::set(Fault::kNone);
  EXPECT_THAT(count().counters, SizeIs(6));
}

TEST_F(CountersTest, ALostDeviceReleasesTheProfilingLock) {
  open();
  CountingDriver::set(Fault::kLost);
  EXPECT_EQ(error_of([&] { count(); }).code(), ErrorCode::kDevice);
  EXPECT_TRUE(device_->lost());
}

TEST_F(CountersTest, AfterATimeoutThePoolStaysWithTheWorkThatMayUseIt) {
  // Runs in a process of its own, because a device that is given up leaks its objects.
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(
      {
        open();
        FaultyDriver::fail(FaultyDriver::Call::kWait, VK_TIMEOUT);
        const Error error = error_of([&] { count(); });
        FaultyDriver::heal();
        const bool kept = CountingDriver::query_pools() == 1 && CountingDriver::locks_held() == 1;
        std::_Exit(error.code() == ErrorCode::kTimeout && kept ? 0 : 1);
      },
      ::testing::ExitedWithCode(0), "");
}

OfferedCounter offered(std::uint32_t index, const std::string& name) {
  return {.index = index, .description = {.name = name}};
}

TEST(ChooseCounters, ChoosesNoneWhereTheDriverCannotCreateAQuery) {
  const std::vector<OfferedCounter> counters = {offered(0, "a"), offered(3, "b")};
  EXPECT_THAT(choose_counters(counters, {}, [](auto) { return 0u; }), IsEmpty());
  EXPECT_THAT(choose_counters(counters, {.most_passes = 2}, [](auto) { return 3u; }), IsEmpty());
  EXPECT_THAT(choose_counters({}, {}, [](auto) { return 1u; }), IsEmpty());
}

TEST(ChooseCounters, SkipsACounterThatNoLongerFitsAndContinues) {
  const std::vector<OfferedCounter> counters = {offered(2, "a"), offered(5, "b"), offered(6, "c")};
  // Counter 5 takes three passes alone.
  const auto passes = [](std::span<const std::uint32_t> indices) {
    return std::ranges::find(indices, 5u) != indices.end() ? 3u : 1u;
  };
  EXPECT_THAT(choose_counters(counters, {.most_passes = 2}, passes), ElementsAre(0, 2));
}

}  // namespace
}  // namespace rooftile
