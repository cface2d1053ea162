// Calls that exceed the device's buffers are computed in slices. One slice is transferred while
// another is computed, and the result is the same as that of the whole call.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string_view>
#include <thread>
#include <vector>

#include "core/hash.h"
#include "generator/compile.h"
#include "generator/emit.h"
#include "tests/support/fast_kernel.h"
#include "tests/support/transfer_fixture.h"

namespace rooftile {
namespace {

using ::testing::HasSubstr;

/// The device's buffers are so small that calls must be sliced.
class SlicedCalls : public Transfer {
 protected:
  void SetUp() override {
    Transfer::SetUp();
    device_.limits.max_storage_buffer_range_bytes = 64 * 66 * sizeof(float);
  }
  bool needs_import() const override { return false; }  // Without it operands are staged.
};

TEST_F(SlicedCalls, TransfersOfOneSliceOverlapTheKernelOfAnother) {
  for (const Calibration& calibration : {slow_host(), in_place(), copied()})
    for (const bool unified : {true, false}) {
      device_.unified_memory = unified;
      const auto context = open(calibration);
      for (const float beta : {0.0f, -0.5f}) {
        Product product(padded_problem(131, 67, 150, Transpose::kNo, Transpose::kYes, 1.5f, beta));
        run(*context, product);
        Product rows(packed_problem(200, 64, 64));
        run(*context, rows);
      }
    }
}

TEST_F(SlicedCalls, AtMostTwoSlicesAreInFlight) {
  const auto in_turn = open_staging(), one_by_one = open_staging();
  Product product(packed_problem(128, 64, 64)), checked(product.problem);
  run(*in_turn, product);
  run(*one_by_one, checked, {.check_spots = true});
  const std::uint64_t one = one_by_one->device_state().most_staging_bytes,
                      two = in_turn->device_state().most_staging_bytes;
  EXPECT_GT(two, one) << "no slice was transferred while another was computed";
  EXPECT_LE(two, 2 * one);
  expect_same_bits(product, checked);
}

TEST_F(SlicedCalls, ManySlicesUseTheMemoryOfTwo) {
  const auto context = open_staging();
  Product few(packed_problem(128, 64, 64)), many(packed_problem(1024, 64, 64));
  run(*context, few);
  const std::uint64_t most = context->device_state().most_staging_bytes;
  run(*context, many);
  EXPECT_EQ(context->device_state().most_staging_bytes, most);
}

TEST_F(SlicedCalls, AfterAFailedKernelTheNextOneComputesTheRemainingSlices) {
  // The cached module is truncated and has a valid checksum, so that the device layer refuses it.
  // The buffer size leaves room for the packed operands of any kernel.
  device_.limits.max_storage_buffer_range_bytes = 300'000;
  const Problem p = packed_problem(600, 128, 256);
  const Shader first = emit_gemm(fast_kernel(device_), {});
  std::vector<std::uint32_t> words = compile(first);
  words.resize(words.size() / 2);
  std::filesystem::create_directories(folder_ / "cache" / "spirv");
  std::ofstream(folder_ / "cache" / "spirv" / (first.hash + ".spv"), std::ios::binary)
      << hash_hex(words)
      << std::string_view(reinterpret_cast<const char*>(words.data()),
                          words.size() * sizeof(std::uint32_t));
  const auto context = open_staging();
  testing::internal::CaptureStderr();
  Product product(p);
  context->gemm(call_of(product, TierChoice::kDevice));
  product.expect_right();
  EXPECT_THAT(testing::internal::GetCapturedStderr(), HasSubstr(short_name(fast_kernel(device_))));
}

TEST_F(SlicedCalls, TheLogSaysThatACallIsSliced) {
  const ScopedEnvironment log("ROOFTILE_LOG", "decisions");
  const auto context = open_staging();
  for (const TierChoice tier : {TierChoice::kDevice, TierChoice::kAuto}) {
    testing::internal::CaptureStderr();
    Product product(packed_problem(tier == TierChoice::kDevice ? 200 : 256, 64, 64));
    context->gemm(call_of(product, tier));
    const std::string said = testing::internal::GetCapturedStderr();
    const std::string problem =
        tier == TierChoice::kDevice ? "200x64x64 nn f32" : "256x64x64 nn f32";
    EXPECT_THAT(said, HasSubstr("rooftile: " + problem + ": computed in 4 slices\n"));
    EXPECT_THAT(
        said, HasSubstr("rooftile: " + problem +
                        (tier == TierChoice::kDevice ? ": device, forced\n" : ": device, score")));
  }
}

TEST_F(SlicedCalls, SlicesAreDecidedAndPredictedTogether) {
  Calibration calibration = slow_host();
  calibration.device.overlap = 1;
  const auto context = open(calibration);
  const Problem p = packed_problem(256, 64, 64);
  const Decision d = context->decide(p);
  EXPECT_EQ(d.tier, Tier::kDevice);
  EXPECT_GT(d.overlapped_ns, 0);
  EXPECT_NEAR(d.submit_ns + d.upload_ns + d.kernel_ns + d.download_ns, d.device_ns,
              1e-9 * d.device_ns);
  Product product(p);
  context->gemm(call_of(product, TierChoice::kDevice));
  for (int call = 0; call < 2; ++call) {  // The kernel is already compiled.
    std::ranges::copy(product.c_before, product.c.begin());
    context->gemm(call_of(product, TierChoice::kAuto));
    product.expect_right();
    EXPECT_EQ(context->last_answer()->tier, Tier::kDevice);
  }
}

TEST_F(SlicedCalls, ThreadsMixDividedAndWholeCalls) {
  const auto context = open(in_place());
  std::vector<std::jthread> threads;
  for (int t = 0; t < 3; ++t)
    threads.emplace_back([&, t] {
      for (int i = 0; i < 3; ++i) {
        Product large(padded_problem(131, 70 + t, 200, Transpose::kNo, Transpose::kNo, 1, 0.5f));
        Product small(whole());
        run(*context, large);
        run(*context, small);
      }
    });
}

}  // namespace
}  // namespace rooftile
