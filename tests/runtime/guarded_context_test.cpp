// Precision requests in a context whose device is predicted to be faster: which calls the guard
// refuses, and which tier answers them instead (kernel_faults_test.cpp has the spot checks). The
// file also tests calls that exceed the device's buffers.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <limits>

#include "core/error.h"
#include "generator/space.h"
#include "guarded_context_fixture.h"
#include "runtime/call/grouped_call.h"
#include "runtime/resident/packing.h"
#include "tests/support/refusal.h"

namespace rooftile {
namespace {

TEST_F(GuardedContext, OrdinaryProductsPassScanAndCheckOnTheDevice) {
  Context context(options());
  for (const Guard& guard : {Guard{}, Guard{.scan_range = true}, Guard{.check_spots = true},
                             Guard{.scan_range = true, .check_spots = true, .kappa = 999}}) {
    Product product(problem_);
    EXPECT_EQ(run(context, product, guard).tier, Tier::kDevice);
    product.expect_right();
  }
}

TEST_F(GuardedContext, OperandsThatFailTheScanRunOnTheHost) {
  Context context(options());
  const auto answer = [&](float value) {
    Product product(problem_);
    reinterpret_cast<float*>(product.stored_a_elements.data())[0] = value;
    return run(context, product, {.scan_range = true});
  };
  EXPECT_EQ(answer(1).tier, Tier::kDevice);
  EXPECT_EQ(answer(std::numeric_limits<float>::quiet_NaN()).tier, Tier::kHost);
  const Answer large = answer(3e38f);
  EXPECT_EQ(large.tier, Tier::kHost64);
  EXPECT_EQ(large.reason, Reason::kPrecision);
}

TEST_F(GuardedContext, IntegersThatFloat32CannotSumAreExact) {
  // 1 + 2^24 - 2^24 is 1. In float32 the sum is 0 if 1 is added to 2^24.
  Problem p = packed_problem(1, 1, 3);
  Product product(p);
  auto* const a = reinterpret_cast<float*>(product.stored_a_elements.data());
  auto* const b = reinterpret_cast<float*>(product.stored_b_elements.data());
  a[0] = 16777216, a[1] = 1, a[2] = -16777216;
  b[0] = b[1] = b[2] = 1;
  Context context(options());
  const Answer answer = run(context, product, {.scan_range = true});
  EXPECT_EQ(answer.tier, Tier::kHost64);
  EXPECT_EQ(product.c[0], 1);
}

TEST_F(GuardedContext, IllConditionedAndExactCallsAreSummedInFloat64) {
  Context context(options());
  for (const Guard& guard : {Guard{.kappa = 1000}, Guard{.precision = Precision::kExact64}}) {
    Product product(problem_);
    const Answer answer = run(context, product, guard);
    EXPECT_EQ(answer.tier, Tier::kHost64);
    EXPECT_EQ(answer.reason, Reason::kPrecision);
    product.expect_right();
  }
  Product relaxed(problem_);
  EXPECT_EQ(run(context, relaxed, {.precision = Precision::kRelaxed, .kappa = 1e9}).tier,
            Tier::kDevice);
}

TEST_F(GuardedContext, AForcedHostSumsInFloat64WhereThePrecisionAsksForIt) {
  for (const TierChoice tier : {TierChoice::kHost, TierChoice::kHost1}) {
    Context context(options());
    for (const Guard& guard : {Guard{.precision = Precision::kExact64},
                               Guard{.precision = Precision::kHigh}, Guard{.kappa = 1000}}) {
      Product product(problem_);
      GemmCall call = call_of(product, tier);
      call.guard = guard;
      context.gemm(call);
      EXPECT_EQ(context.last_answer()->tier, Tier::kHost64);
      EXPECT_EQ(context.last_answer()->reason, Reason::kPrecision);
      expect_float64(product);
      EXPECT_EQ(context.explain(call).decision.tier, Tier::kHost64);
    }
  }
}

TEST_F(GuardedContext, APrecisionOfTheContextHoldsForRepeatedCallsOnAForcedHost) {
  ContextOptions exact = options();
  exact.tier = TierChoice::kHost1;
  exact.precision = Precision::kExact64;
  Context context(exact);
  for (int call = 0; call < 3; ++call) {
    Product product(problem_);
    EXPECT_EQ(run(context, product, {}).tier, Tier::kHost64);
    expect_float64(product);
  }
  Product standard(problem_);
  EXPECT_EQ(run(context, standard, {.precision = Precision::kStandard}).tier, Tier::kHost1);
}

TEST_F(GuardedContext, ADeviceSumsInFloat64WhereThatIsFasterOrForced) {
  if (!device_.limits.float64_arithmetic) GTEST_SKIP() << "no float64 arithmetic";
  tune(parse_types("f64"));
  Context context(options());
  for (const TierChoice tier : {TierChoice::kAuto, TierChoice::kDevice})
    for (const Guard& guard : {Guard{.kappa = 1000}, Guard{.precision = Precision::kExact64},
                               Guard{.precision = Precision::kExact64, .check_spots = true}}) {
      Product product(problem_);
      GemmCall call = call_of(product, tier);
      call.guard = guard;
      context.gemm(call);
      EXPECT_EQ(context.last_answer()->tier, Tier::kDevice);
      EXPECT_EQ(context.last_answer()->reason,
                tier == TierChoice::kAuto ? Reason::kPredicted : Reason::kForced);
      expect_float64(product);
      const Explanation explanation = context.explain(call);
      EXPECT_EQ(explanation.decision.tier, Tier::kDevice);
      EXPECT_EQ(explanation.decision.pass_over, "a, b and c");
      EXPECT_EQ(explanation.means, "host_pass");
    }
}

TEST_F(GuardedContext, WhatTheScanRefusesIsSummedInFloat64OnTheDevice) {
  if (!device_.limits.float64_arithmetic) GTEST_SKIP() << "no float64 arithmetic";
  tune(parse_types("f64"));
  for (const TierChoice tier : {TierChoice::kAuto, TierChoice::kDevice}) {
    Context context(options());
    Product product(packed_problem(1, 1, 3));
    auto* const a = reinterpret_cast<float*>(product.stored_a_elements.data());
    auto* const b = reinterpret_cast<float*>(product.stored_b_elements.data());
    a[0] = 16777216, a[1] = 1, a[2] = -16777216;
    b[0] = b[1] = b[2] = 1;
    GemmCall call = call_of(product, tier);
    call.guard = {.precision = Precision::kHigh};
    context.gemm(call);
    EXPECT_EQ(context.last_answer()->tier, Tier::kDevice);
    EXPECT_EQ(product.c[0], 1);
  }
}

TEST_F(GuardedContext, TheHostAnswersExactCallsOnInfinity) {
  if (!device_.limits.float64_arithmetic) GTEST_SKIP() << "no float64 arithmetic";
  tune(parse_types("f64"));
  Context context(options());
  Product product(problem_);
  reinterpret_cast<float*>(product.stored_a_elements.data())[0] =
      std::numeric_limits<float>::infinity();
  const Answer answer = run(context, product, {.precision = Precision::kExact64});
  EXPECT_EQ(answer.tier, Tier::kHost64);
  EXPECT_EQ(answer.reason, Reason::kPrecision);
}

TEST_F(GuardedContext, AnAnswerIsExplainedWithTheSumsThatItHad) {
  if (!device_.limits.float64_arithmetic) GTEST_SKIP() << "no float64 arithmetic";
  tune(parse_types("f64"));
  ContextOptions exact = options();
  exact.precision = Precision::kExact64;
  Context context(exact);
  for (const Precision precision : {Precision::kStandard, Precision::kExact64}) {
    Product product(problem_);
    const Answer answer = run(context, product, {.precision = precision});
    const Explanation explanation = context.explain_answer(answer);
    EXPECT_EQ(explanation.float64_sums, precision == Precision::kExact64);
    EXPECT_EQ(explanation.means, precision == Precision::kExact64 ? "host_pass" : "tuned");
  }
  Product integers(packed_problem(1, 1, 3));
  auto* const a = reinterpret_cast<float*>(integers.stored_a_elements.data());
  auto* const b = reinterpret_cast<float*>(integers.stored_b_elements.data());
  a[0] = 16777216, a[1] = 1, a[2] = 1, b[0] = b[1] = b[2] = 1;
  const Answer answer =
      run(context, integers, {.precision = Precision::kStandard, .scan_range = true});
  EXPECT_TRUE(context.explain_answer(answer).float64_sums);
}

TEST_F(GuardedContext, TheReasonForFloat64SumsIsNamedWhereADeviceCannotMakeThem) {
  Context context(options());
  Product product(packed_problem(1, 1, 3));
  auto* const a = reinterpret_cast<float*>(product.stored_a_elements.data());
  auto* const b = reinterpret_cast<float*>(product.stored_b_elements.data());
  a[0] = 16777216, a[1] = 1, a[2] = 1, b[0] = b[1] = b[2] = 1;
  GemmCall call = call_of(product, TierChoice::kDevice);
  call.guard.scan_range = true;
  EXPECT_THAT(message_of([&] { context.gemm(call); }, ErrorCode::kUnsupported),
              ::testing::AllOf(::testing::HasSubstr("integers whose sums may reach"),
                               ::testing::HasSubstr("1x1x3 nn f64")));
  EXPECT_TRUE(product.c_is_untouched());
}

TEST_F(GuardedContext, AForcedDeviceWithoutAFloat64KernelRefusesFloat64Sums) {
  Context context(options());
  for (const Guard& guard : {Guard{.precision = Precision::kExact64}, Guard{.kappa = 5000}}) {
    Product product(problem_);
    GemmCall call = call_of(product, TierChoice::kDevice);
    call.guard = guard;
    EXPECT_THAT(message_of([&] { context.gemm(call); }, ErrorCode::kUnsupported),
                ::testing::HasSubstr("33x17x65 nt f64"));
    EXPECT_TRUE(product.c_is_untouched());
    EXPECT_EQ(context.explain(call).forced_device, "fails");
  }
}

TEST_F(GuardedContext, AFloat64KernelIsCertifiedForAForcedDevice) {
  if (!device_.limits.float64_arithmetic) GTEST_SKIP() << "no float64 arithmetic";
  ContextOptions certifying = options();
  certifying.deterministic = Deterministic::kNo;
  Context context(certifying);
  Product product(problem_);
  GemmCall call = call_of(product, TierChoice::kDevice);
  call.guard.precision = Precision::kExact64;
  EXPECT_EQ(context.explain(call).forced_device, "certifies_first");
  context.gemm(call);
  EXPECT_EQ(context.last_answer()->tier, Tier::kDevice);
  expect_float64(product);
}

TEST_F(GuardedContext, AFloat64KernelIsCertifiedForCallsThatGainByIt) {
  if (!device_.limits.float64_arithmetic) GTEST_SKIP() << "no float64 arithmetic";
  ContextOptions certifying = options();
  certifying.deterministic = Deterministic::kNo;
  Context context(certifying);
  const Guard exact = {.precision = Precision::kExact64};
  Product product(problem_);
  EXPECT_EQ(run(context, product, exact).tier, Tier::kHost64);
  context.wait_for_certificates();
  Product again(problem_);
  run(context, again, exact);
  EXPECT_EQ(context.explain({.problem = problem_, .guard = exact}).decision.tier, Tier::kDevice);
  expect_float64(again);
}

TEST_F(GuardedContext, IntegerSumsOnADeviceMeetEveryPrecision) {
  const Types types = parse_types("i8_i32");
  write_test_database(folder_ / "tuned.db", device_, {fallback_variant()}, {}, types, slow_host());
  Context context(options());
  for (const Guard& guard : {Guard{.precision = Precision::kExact64}, Guard{.kappa = 1e6}}) {
    Product product(padded_problem(33, 17, 65, Transpose::kNo, Transpose::kNo, 1, 1, types));
    GemmCall call = call_of(product, TierChoice::kDevice);
    call.guard = guard;
    context.gemm(call);
    product.expect_right();
  }
}

TEST_F(GuardedContext, HighPrecisionDoesNotPermitSumsInHalfPrecision) {
  for (const char* types : {"f16_f16", "f16_f16_sum_f16"})
    write_test_database(folder_ / "tuned.db", device_, {fallback_variant()}, {}, parse_types(types),
                        slow_host());
  Context context(options());
  // The result is checked against the bound of float32 sums, although the call permits float16
  // sums.
  Product product(
      padded_problem(33, 17, 1025, Transpose::kNo, Transpose::kNo, 1, 0, parse_types("f16_f16")));
  GemmCall call = call_of(product, TierChoice::kDevice);
  call.problem.types = parse_types("f16_f16_sum_f16");
  call.guard = {.precision = Precision::kHigh};
  context.gemm(call);
  EXPECT_EQ(context.last_answer()->tier, Tier::kDevice);
  product.expect_right();
}

TEST_F(GuardedContext, HighPrecisionFallsBackToFloat64WithoutRejectingTheKernel) {
  // All terms have the same sign. A float32 sum of 40,000 terms in sequence has a relative error
  // above 1e-6.
  Problem p = packed_problem(17, 9, 40'000);
  Product product(p);
  auto* const a = reinterpret_cast<float*>(product.stored_a_elements.data());
  auto* const b = reinterpret_cast<float*>(product.stored_b_elements.data());
  for (std::int64_t i = 0; i < p.m * p.k; ++i) a[i] = 1.0f / 3;
  for (std::int64_t i = 0; i < p.k * p.n; ++i) b[i] = 0.7f;
  ContextOptions high = options();
  high.precision = Precision::kHigh;
  Context context(high);
  const Answer answer = run(context, product, {});
  EXPECT_EQ(answer.tier, Tier::kHost64);
  const double exact =
      static_cast<double>(1.0f / 3) * static_cast<double>(0.7f) * static_cast<double>(p.k);
  for (const float c : std::span(product.c).first(static_cast<std::size_t>(p.m * p.n)))
    ASSERT_NEAR(c, exact, exact * 0x1p-24);
  EXPECT_EQ(context.device_state().last_failure, "");
}

TEST_F(GuardedContext, HighPrecisionOnTheHostIsFloat64) {
  Context context({.database = folder_ / "none.db"});
  Product product(problem_);
  EXPECT_EQ(run(context, product, {.precision = Precision::kHigh}).tier, Tier::kHost64);
  product.expect_right();
}

TEST_F(GuardedContext, TheEnvironmentSetsTheDefaultPrecision) {
  const ScopedEnvironment exact("ROOFTILE_PRECISION", "exact64");
  Context context(options());
  Product product(problem_);
  EXPECT_EQ(run(context, product, {}).tier, Tier::kHost64);
  Product standard(problem_);
  EXPECT_EQ(run(context, standard, {.precision = Precision::kStandard}).tier, Tier::kDevice);
  const ScopedEnvironment unknown("ROOFTILE_PRECISION", "best");
  EXPECT_THROW(Context{options()}, Error);
}

TEST_F(GuardedContext, CallsThatExceedTheDevicesBuffersRunInSlices) {
  // A alone exceeds the range of a storage buffer. The test runs if this range is as small as on
  // software devices.
  const auto range = static_cast<std::int64_t>(device_.limits.max_storage_buffer_range_bytes);
  if (range > (std::int64_t{1} << 28))
    GTEST_SKIP() << "operands of " << range << " bytes are too large for this test";
  const std::int64_t k = 600, m = range / 4 / k + 100;
  Product product(packed_problem(m, 48, k));
  Context context(options());
  const Decision decision = context.decide(product.problem);
  EXPECT_EQ(decision.tier, Tier::kDevice) << decision.veto;
  const double transfer_bytes = minimum_bytes(product.problem);
  EXPECT_GT(decision.upload_ns + decision.download_ns, transfer_bytes / 10)
      << "B is transferred twice";
  for (const TierChoice tier : {TierChoice::kAuto, TierChoice::kDevice}) {
    std::ranges::copy(product.c_before, product.c.begin());
    context.gemm(call_of(product, tier));
    EXPECT_EQ(context.last_answer()->tier, Tier::kDevice);
    EXPECT_EQ(context.last_answer()->problem.m, m);
    EXPECT_EQ(context.device_state().last_failure, "");
    // The check takes a few elements on both sides of a cut, since all of them would take seconds.
    const Problem& p = product.problem;
    for (const std::int64_t row :
         {std::int64_t{0}, m / 2 - 1, m / 2, m / 2 + 63, m / 2 + 64, m - 1})
      for (std::int64_t column = 0; column < p.n; ++column) {
        const ReferenceElement expected = reference_element(
            p, product.stored_a_elements.data(), product.stored_b_elements.data(), 0, row, column);
        EXPECT_LE(
            error_ratio(p, expected, product.c[static_cast<std::size_t>(row * p.ldc + column)]), 1)
            << row << ", " << column;
      }
  }
}

}  // namespace
}  // namespace rooftile
