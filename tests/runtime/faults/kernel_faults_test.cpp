// Kernels that fail or compute wrong results, one test for each fault (docs/faults.md): the call
// returns right results, the fault is reported on stderr once, and later calls do not use that
// kernel.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <vector>

#include "core/error.h"
#include "core/hash.h"
#include "generator/compile.h"
#include "generator/emit.h"
#include "generator/space.h"
#include "tests/support/fast_kernel.h"
#include "tests/support/faults_fixture.h"
#include "tests/support/refusal.h"

namespace rooftile {
namespace {

using ::testing::HasSubstr;
using DriverCall = FaultyDriver::Call;

// ---- Kernels that do not compile ----

TEST_F(Faults, AfterAFailedKernelTheNextOneAnswers) {
  // The cached module is truncated and has a valid checksum, so that the device layer refuses it.
  const Shader first = emit_gemm(fast_kernel(device_), signature_of(problem_));
  std::vector<std::uint32_t> words = compile(first);
  words.resize(words.size() / 2);
  store_spirv(cache_, first, words);
  const auto context = open();
  expect_one_line(said_by([&] {
                    for (int call = 0; call < 3; ++call)
                      expect(multiply(*context), Tier::kDevice, Reason::kPredicted);
                  }),
                  short_name(fast_kernel(device_)));
  EXPECT_FALSE(context->device_state().last_failure.empty());
}

TEST_F(Faults, AfterAKernelThatCannotBeLaunchedTheNextOneAnswers) {
  const auto context = open();
  expect(multiply(*context), Tier::kDevice, Reason::kPredicted);
  expect_one_line(said_by([&] {
                    FaultyDriver::fail_once(DriverCall::kSubmit, VK_ERROR_UNKNOWN);
                    for (int call = 0; call < 3; ++call)
                      expect(multiply(*context), Tier::kDevice, Reason::kPredicted);
                  }),
                  "kernel '" + short_name(fast_kernel(device_)) + "' fails");
  EXPECT_EQ(FaultyDriver::failed(DriverCall::kSubmit), 1);
}

TEST_F(Faults, WhenEveryKernelFailsTheHostAnswersAndTheDecisionNamesTheReason) {
  const auto context = open();
  const std::string said = said_by([&] {
    FaultyDriver::fail(DriverCall::kCompile, VK_ERROR_UNKNOWN);
    expect(multiply(*context), Tier::kHost, Reason::kFailed);
    for (int call = 0; call < 3; ++call)
      expect(multiply(*context), Tier::kHost, Reason::kPredicted);
  });
  EXPECT_EQ(std::ranges::count(said, '\n'), 2) << said;
  for (const Variant& variant : {fast_kernel(device_), fallback_variant()})
    EXPECT_THAT(said, HasSubstr("kernel '" + short_name(variant) + "' fails"));
  const Decision decision = context->decide(problem_);
  EXPECT_EQ(decision.veto_name, Veto::kNoKernel);
  EXPECT_THAT(decision.veto, HasSubstr("has failed"));
  expect_forced_device_fails(*context, "has failed");
  expect_sound_again();
}

// ---- A kernel that computes wrong results ----

TEST_F(WrongKernel, IsDetectedByASpotCheckAndTheHostAnswers) {
  {
    const auto context = open();
    Product unguarded(problem_);
    context->gemm(call_of(unguarded));  // No spot check is made.
    EXPECT_EQ(context->last_answer()->tier, Tier::kDevice);
    expect_one_line(said_by([&] {
                      expect(multiply(*context, checked_), Tier::kHost, Reason::kPrecision);
                      // The wrong kernel is not used any more. The next kernel is used and gives
                      // right results.
                      expect(multiply(*context), Tier::kDevice, Reason::kPredicted);
                      expect(multiply(*context, checked_), Tier::kDevice, Reason::kPredicted);
                    }),
                    "spot check: element (");
    EXPECT_THAT(context->device_state().last_failure, HasSubstr("spot check"));
  }
  // No other process uses it either, until it is certified again.
  expect(multiply(*open()), Tier::kDevice, Reason::kPredicted);
}

TEST_F(Faults, Float64SumsOfAWrongKernelAreDetected) {
  if (!device_.limits.float64_arithmetic) GTEST_SKIP() << "no float64 arithmetic";
  const Types float64 = parse_types("f64");
  write_test_database(database_, device_, {fast_kernel(device_), fallback_variant()}, {}, float64,
                      no_host());
  Problem product = problem_;
  product.types = float64;
  ShaderCache(cache_).spirv(changed(emit_gemm(fast_kernel(device_), signature_of(product)),
                                    "return alpha * sum + old;",
                                    "return alpha * sum * 1.000001 + old;"));
  const auto context = open();
  const Guard exact = {.precision = Precision::kExact64};
  expect_one_line(said_by([&] {
                    expect(multiply(*context, exact), Tier::kHost64, Reason::kPrecision);
                    expect(multiply(*context, exact), Tier::kDevice, Reason::kPredicted);
                  }),
                  "spot check: element (");
}

TEST_F(WrongKernel, IsReportedOnceByAllThreads) {
  const auto context = open();
  expect_one_line(said_by([&] { multiply_by_threads(*context, checked_); }),
                  "spot check: element (");
}

TEST_F(WrongKernel, OnAForcedDeviceIsAnErrorWithCUntouched) {
  const auto context = open();
  Product product(problem_);
  GemmCall call = call_of(product, TierChoice::kDevice);
  call.guard = checked_;
  EXPECT_THAT(message_of([&] { context->gemm(call); }, ErrorCode::kDevice),
              HasSubstr("spot check: element ("));
  EXPECT_TRUE(product.c_is_untouched());
}

}  // namespace
}  // namespace rooftile
