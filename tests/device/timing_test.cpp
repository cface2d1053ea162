#include <numeric>

#include "tests/support/test_device.h"

namespace rooftile {
namespace {

TEST(Timing, EveryStepHasATimeWithinTheRuns) {
  Device& device = test_device();
  if (device.profile().limits.timestamp_valid_bits == 0)
    GTEST_SKIP() << "the compute queue has no timestamps";
  constexpr std::uint32_t kCount = 10007;
  const Affine affine(device);
  const Buffer x = device.create_buffer(kCount * sizeof(float), BufferUse::kUpload);
  const Buffer y = device.create_buffer(kCount * sizeof(float), BufferUse::kDownload);
  std::fill(view<float>(x).begin(), view<float>(x).end(), 1.0f);
  const Step dispatch = affine.step({&x}, {&y}, {.n = kCount, .factor = 1.0f});
  const std::vector<Step> steps = {dispatch, BarrierStep{}, dispatch, BarrierStep{},
                                   CopyStep{.source = {&x}, .target = {&y}}};
  CommandList list = device.record(steps, Timing::kPerStep);
  for (int run = 0; run < 3; ++run) {
    const RunResult result = device.run(list, kPatience_ns);
    ASSERT_EQ(result.step_ns.size(), steps.size());
    EXPECT_GT(result.step_ns[0], 0.0);
    EXPECT_EQ(result.step_ns[1], 0.0);
    EXPECT_GT(result.step_ns[2], 0.0);
    EXPECT_EQ(result.step_ns[3], 0.0);
    EXPECT_GE(result.step_ns[4], 0.0);
    // The steps lie between submission and fence; each time is rounded to ticks at both ends.
    const double ticks_ns = 2 * 3 * device.profile().limits.timestamp_period_ns;
    EXPECT_LE(std::accumulate(result.step_ns.begin(), result.step_ns.end(), 0.0),
              result.wall_ns + ticks_ns);
  }
}

TEST(Timing, AWholeListHasOneTimeWithinTheRun) {
  Device& device = test_device();
  if (device.profile().limits.timestamp_valid_bits == 0)
    GTEST_SKIP() << "the compute queue has no timestamps";
  constexpr std::uint32_t kCount = 10007;
  const Affine affine(device);
  const Buffer x = device.create_buffer(kCount * sizeof(float), BufferUse::kUpload);
  const Buffer y = device.create_buffer(kCount * sizeof(float), BufferUse::kDownload);
  std::fill(view<float>(x).begin(), view<float>(x).end(), 1.0f);
  const Step dispatch = affine.step({&x}, {&y}, {.n = kCount, .factor = 1.0f});
  const double ticks_ns = 2 * device.profile().limits.timestamp_period_ns;
  for (const std::vector<Step>& steps :
       {std::vector<Step>{BarrierStep{}}, std::vector<Step>{dispatch, BarrierStep{}, dispatch},
        std::vector<Step>(8, dispatch)}) {
    CommandList list = device.record(steps, Timing::kWhole);
    for (int run = 0; run < 3; ++run) {
      const RunResult result = device.run(list, kPatience_ns);
      ASSERT_EQ(result.step_ns.size(), 1u);
      EXPECT_GE(result.step_ns[0], steps.size() > 1 ? 1.0 : 0.0);
      EXPECT_LE(result.step_ns[0], result.wall_ns + ticks_ns);
    }
  }
}

TEST(Timing, BarriersAloneAreAllZeros) {
  Device& device = test_device();
  if (device.profile().limits.timestamp_valid_bits == 0)
    GTEST_SKIP() << "the compute queue has no timestamps";
  CommandList list = device.record(std::vector<Step>(3, BarrierStep{}), Timing::kPerStep);
  EXPECT_EQ(device.run(list, kPatience_ns).step_ns, std::vector<double>(3, 0.0));
}

}  // namespace
}  // namespace rooftile
