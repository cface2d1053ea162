#include "tuner/measure/processor_time.h"

#include <gtest/gtest.h>

#include "core/clock.h"

namespace rooftile {
namespace {

constexpr ProcessorTime use(double wall_ns, double cpu_ns, std::int64_t preemptions) {
  return {.wall_ns = wall_ns, .cpu_ns = cpu_ns, .preemptions = preemptions};
}

TEST(ProcessorTimeTest, LostShareIsAgainstWhatTheSameWorkHadBefore) {
  EXPECT_DOUBLE_EQ(busy_share(use(4e6, 4e6, 3), 2.0), 0.5);
  EXPECT_DOUBLE_EQ(busy_share(use(4e6, 4e6, 3), 1.0), 0) << "the work usually gets one processor";
  EXPECT_DOUBLE_EQ(busy_share(use(4e6, 8e6, 3), 1.0), 0);
}

TEST(ProcessorTimeTest, SmallLossesNeedAPreemptionAndLargeOnesDoNot) {
  EXPECT_DOUBLE_EQ(busy_share(use(4e6, 3.2e6, 0), 1.0), 0);
  EXPECT_NEAR(busy_share(use(4e6, 3.2e6, 1), 1.0), 0.2, 1e-12);
  EXPECT_NEAR(busy_share(use(4e6, 2e6, 0), 1.0), 0.5, 1e-12)
      << "a hypervisor took half of the time";
}

TEST(ProcessorTimeTest, ShortWorkAndUnknownWorkTellNothing) {
  EXPECT_EQ(busy_share(use(1e5, 1e4, 5), 2.0), 0);
  EXPECT_EQ(busy_share(use(4e6, 1e6, 5), 0), 0);
}

TEST(ProcessorTimeTest, CountsThisProcess) {
  const ProcessorTime before = processor_time_now();
  const double end = now_ns() + 3e6;
  while (now_ns() < end) {
  }
  const ProcessorTime used = processor_time_now() - before;
  EXPECT_GE(used.wall_ns, 3e6);
  EXPECT_GT(used.cpu_ns, 0);
  ProcessorTime twice = used;
  twice += used;
  EXPECT_DOUBLE_EQ(twice.cpu_ns, 2 * used.cpu_ns);
  EXPECT_DOUBLE_EQ(twice.occupancy(), used.occupancy());
}

}  // namespace
}  // namespace rooftile
