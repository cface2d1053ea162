#include "tuner/measure/steady_samples.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <thread>

namespace rooftile {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

/// Readings in this order; the last one repeats.
class Script {
 public:
  explicit Script(std::vector<Reading> readings) : readings_(std::move(readings)) {}
  SteadySamples samples(int count, int most_retakes = kMostRetakes) {
    return steady_samples(
        count, most_retakes, [&] { return readings_[std::min(taken_++, readings_.size() - 1)]; },
        [&](int before) { back_offs_.push_back(before); });
  }
  std::size_t taken() const { return taken_; }
  const std::vector<int>& back_offs() const { return back_offs_; }

 private:
  std::vector<Reading> readings_;
  std::size_t taken_ = 0;
  std::vector<int> back_offs_;
};

std::vector<double> times(const SteadySamples& samples) {
  std::vector<double> ns;
  for (const Reading& reading : samples.readings) ns.push_back(reading.kernel_ns);
  return ns;
}

constexpr Reading kQuiet = {.kernel_ns = 100};
constexpr Reading kBusy = {.kernel_ns = 180, .busy_share = 0.4};

TEST(SteadySamplesTest, QuietSamplesAreMeasuredOnce) {
  Script script({kQuiet});
  const SteadySamples samples = script.samples(3);
  EXPECT_THAT(times(samples), ElementsAre(100, 100, 100));
  EXPECT_EQ(script.taken(), 3u);
  EXPECT_EQ(samples.retaken, 0);
  EXPECT_EQ(samples.noisy, 0);
}

TEST(SteadySamplesTest, DisturbedSamplesAreRepeatedAfterIncreasingPauses) {
  Script script({kBusy, kBusy, kQuiet});
  const SteadySamples samples = script.samples(2);
  EXPECT_THAT(times(samples), ElementsAre(100, 100));
  EXPECT_THAT(script.back_offs(), ElementsAre(0, 1));
  EXPECT_EQ(samples.retaken, 2);
  EXPECT_EQ(samples.noisy, 0);
}

TEST(SteadySamplesTest, AMachineThatStaysBusyCostsABoundedNumberAndIsReported) {
  Script script({kBusy});
  const SteadySamples samples = script.samples(4);
  EXPECT_EQ(script.taken(), 4u + kMostRetakes);
  EXPECT_EQ(samples.retaken, kMostRetakes);
  EXPECT_EQ(samples.noisy, 4);
  EXPECT_EQ(samples.readings.size(), 4u);
}

TEST(SteadySamplesTest, ASpikeIsRepeatedAtOnce) {
  Script script({kQuiet, {.kernel_ns = 300}, kQuiet});
  const SteadySamples samples = script.samples(2);
  EXPECT_THAT(times(samples), ElementsAre(100, 100));
  EXPECT_THAT(script.back_offs(), IsEmpty());
  EXPECT_EQ(samples.noisy, 0);
}

TEST(SteadySamplesTest, ASlowFirstReadingIsASpike) {
  Script script({{.kernel_ns = 300, .pack_ns = 9}, kQuiet});
  EXPECT_THAT(times(script.samples(2)), ElementsAre(100, 100));
}

TEST(SteadySamplesTest, SamplesThatStaySlowAreKeptAndFlaggedNoisy) {
  Script script({kQuiet, {.kernel_ns = 300}});
  const SteadySamples samples = script.samples(2);
  EXPECT_THAT(times(samples), ElementsAre(100, 300));
  EXPECT_EQ(samples.noisy, 1);
}

TEST(SteadySamplesTest, WithoutAllowanceNothingIsRepeatedAndEverythingIsReported) {
  Script script({kBusy, kQuiet, {.kernel_ns = 300}});
  const SteadySamples samples = script.samples(3, 0);
  EXPECT_EQ(script.taken(), 3u);
  EXPECT_EQ(samples.retaken, 0);
  EXPECT_EQ(samples.noisy, 2);
}

// For a short run, the pause before it is most of the cost of resampling.
TEST(SteadySamplesTest, PausesAndRepeatedRunsCountAsLostTime) {
  constexpr std::chrono::milliseconds kRun(2), kPause(10);
  const auto lost_s = [&](Reading reading) {
    return steady_samples(
               2, 1,
               [&] {
                 std::this_thread::sleep_for(kRun);
                 return reading;
               },
               [&](int) { std::this_thread::sleep_for(kPause); })
        .lost_s;
  };
  EXPECT_GE(lost_s(kBusy), std::chrono::duration<double>(kRun + kPause).count());
  EXPECT_EQ(lost_s(kQuiet), 0);
}

TEST(RetakeAllowanceTest, IsATenthOfTheMeasuringTime) {
  RetakeAllowance allowance;
  allowance.spend(2.5);
  EXPECT_FALSE(allowance.any());
  allowance.earn(4.9);
  EXPECT_FALSE(allowance.any());
  allowance.earn(0.2);
  EXPECT_TRUE(allowance.any());
}

}  // namespace
}  // namespace rooftile
