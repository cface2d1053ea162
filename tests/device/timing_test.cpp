#include <numeric>

#include "tests/support/test_device.h"

namespace rooftile {
namespace {

class TimingTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (device_.profile().limits.timestamp_valid_bits == 0)
      GTEST_SKIP() << "the compute queue has no timestamps";
    std::fill(view<float>(x_).begin(), view<float>(x_).end(), 1.0f);
  }
  Step dispatch() { return affine_.step({&x_}, {&y_}, {.n = kCount, .factor = 1.0f}); }
  /// Bounds what is lost where so many times are rounded to ticks at both ends.
  double ticks_ns(int times) const {
    return 2 * times * device_.profile().limits.timestamp_period_ns;
  }

  static constexpr std::uint32_t kCount = 10007;
  Device& device_ = test_device();
  const Affine affine_{device_};
  const Buffer x_ = device_.create_buffer(kCount * sizeof(float), BufferUse::kUpload);
  const Buffer y_ = device_.create_buffer(kCount * sizeof(float), BufferUse::kDownload);
};

TEST_F(TimingTest, EveryStepHasATimeWithinTheRuns) {
  const std::vector<Step> steps = {dispatch(), BarrierStep{}, dispatch(), BarrierStep{},
                                   CopyStep{.source = {&x_}, .target = {&y_}}};
  CommandList list = device_.record(steps, Timing::kPerStep);
  for (int run = 0; run < 3; ++run) {
    const RunResult result = device_.run(list, kPatience_ns);
    ASSERT_EQ(result.step_ns.size(), steps.size());
    EXPECT_GT(result.step_ns[0], 0.0);
    EXPECT_EQ(result.step_ns[1], 0.0);
    EXPECT_GT(result.step_ns[2], 0.0);
    EXPECT_EQ(result.step_ns[3], 0.0);
    EXPECT_GE(result.step_ns[4], 0.0);
    // The steps lie between submission and fence.
    EXPECT_LE(std::accumulate(result.step_ns.begin(), result.step_ns.end(), 0.0),
              result.wall_ns + ticks_ns(3));
  }
}

TEST_F(TimingTest, AWholeListHasOneTimeWithinTheRun) {
  for (const std::vector<Step>& steps :
       {std::vector<Step>{BarrierStep{}}, std::vector<Step>{dispatch(), BarrierStep{}, dispatch()},
        std::vector<Step>(8, dispatch())}) {
    CommandList list = device_.record(steps, Timing::kWhole);
    for (int run = 0; run < 3; ++run) {
      const RunResult result = device_.run(list, kPatience_ns);
      ASSERT_EQ(result.step_ns.size(), 1u);
      EXPECT_GE(result.step_ns[0], steps.size() > 1 ? 1.0 : 0.0);
      EXPECT_LE(result.step_ns[0], result.wall_ns + ticks_ns(1));
    }
  }
}

TEST_F(TimingTest, BarriersAloneAreAllZeros) {
  CommandList list = device_.record(std::vector<Step>(3, BarrierStep{}), Timing::kPerStep);
  EXPECT_EQ(device_.run(list, kPatience_ns).step_ns, std::vector<double>(3, 0.0));
}

}  // namespace
}  // namespace rooftile
