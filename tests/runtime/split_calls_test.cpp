// Calls that are split over two Vulkan drivers, lavapipe and SwiftShader, and the host, in one
// process and over a driver that fails on command.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rooftile/rooftile.h>
#include <stdlib.h>

#include <algorithm>
#include <thread>

#include "tests/support/await.h"
#include "tests/support/changed_shader.h"
#include "tests/support/faults_fixture.h"
#include "tests/support/forked_child.h"
#include "tests/support/forked_threads.h"
#include "tests/support/lavapipe_manifest.h"
#include "tests/support/opened.h"
#include "tests/support/problem_args.h"

namespace rooftile {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using DriverCall = FaultyDriver::Call;

constexpr const char* kSwiftShader = "/usr/lib/chromium/vk_swiftshader_icd.json";

/// Installs both drivers before the first use of Vulkan, until the process ends.
class BothDrivers : public ::testing::Environment {
 public:
  void SetUp() override {
    const std::string both = lavapipe_manifest() + ":" + kSwiftShader;
    for (const char* variable : {"VK_DRIVER_FILES", "VK_ICD_FILENAMES"})
      ::setenv(variable, both.c_str(), 1);
  }
};
[[maybe_unused]] const auto* const both_drivers =
    ::testing::AddGlobalTestEnvironment(new BothDrivers);  // GoogleTest takes ownership.

constexpr double kKernelNs = 1e7;  // Of 64 x 64 x 64: starting a thread is nothing beside it.

/// Fixture whose devices and host are predicted to be equally fast. The database calls the devices
/// discrete, so that they share no processors with the host in predictions.
class SplitCalls : public Faults {
 protected:
  void SetUp() override {
    if (!std::filesystem::exists(kSwiftShader))
      GTEST_SKIP() << "SwiftShader is not installed: scripts/test --drivers";
    const Enumeration found = enumerate_devices();
    ASSERT_EQ(found.devices.size(), 2u) << found.note;
    for (DeviceProfile device : found.devices) {
      device.kind = DeviceKind::kDiscrete;
      (device.name.starts_with("llvmpipe") ? device_ : second_) = device;
    }
    ASSERT_FALSE(device_.name.empty());
    ASSERT_FALSE(second_.name.empty());
    plant_both();
  }
  /// The device that is planted last is the context's own.
  void plant_both(const Calibration& calibration = equal(), const Epilogue& epilogue = {},
                  const Types& types = {}) const {
    std::filesystem::remove(database_);
    for (const DeviceProfile& device : {second_, device_})
      write_test_database(database_, device, {fast_kernel(device_), fallback_variant()}, epilogue,
                          types, calibration, kKernelNs);
  }
  /// BLAS takes as long as the kernels, with one thread as with all of them.
  static Calibration equal() {
    Calibration even = fast_host();
    for (HostRates* host : {&even.host, &even.host1})
      *host = {.call_ns = 1, .gbps = 1000, .gemm = {{64, 64, 64, 2.0 * 64 * 64 * 64 / kKernelNs}}};
    even.host64 = even.host;
    return even;
  }
  ContextOptions all() const {
    ContextOptions options = this->options();
    options.devices = Devices::kAll;
    return options;
  }
  std::unique_ptr<Context> open_all() const { return std::make_unique<Context>(all()); }

  DeviceProfile second_;
  const Problem large_ = padded_problem(330, 90, 70, Transpose::kNo, Transpose::kYes, 1.5f, 0.5f);
};

TEST_F(SplitCalls, TwoDevicesAndTheHostComputeOneCall) {
  const auto context = open_all();
  const Answer answer = multiply(*context, large_);
  expect(answer, Tier::kSplit, Reason::kPredicted);
  EXPECT_THAT(answer.shares, AllOf(HasSubstr("llvmpipe "), HasSubstr("SwiftShader Device "),
                                   HasSubstr("host"), HasSubstr(" rows")));
  const Explanation explanation = context->explain({.problem = large_});
  EXPECT_EQ(explanation.decision.tier, Tier::kSplit);
  EXPECT_EQ(explanation.split.shares, answer.shares);
  EXPECT_THAT(explanation.split.reason, HasSubstr(" together "));
  const Decision& d = explanation.decision;
  EXPECT_LT(explanation.split.ns, 0.6 * std::min(d.device_ns, d.best_host_ns));
}

TEST_F(SplitCalls, TheDevicesComputeAtTheSameTime) {
  const auto context = open_all();
  multiply(*context, large_);  // Kernels are compiled and devices open.
  const int submitted = FaultyDriver::calls(DriverCall::kSubmit);
  FaultyDriver::hold_next(DriverCall::kWait);
  std::jthread call([&] { expect(multiply(*context, large_), Tier::kSplit, Reason::kPredicted); });
  FaultyDriver::await_held();
  EXPECT_TRUE(await("the other device has its part while one waits",
                    [&] { return FaultyDriver::calls(DriverCall::kSubmit) >= submitted + 2; }));
  FaultyDriver::release();
}

TEST_F(SplitCalls, EveryTransposeScalarAndEpilogueIsDivided) {
  const Epilogue epilogue =
      parse_epilogue("row_scale+column_scale+bias_row+gelu_erf+residual+clamp");
  plant_both(equal(), epilogue);
  const auto context = open_all();
  bool tall = false;
  for (const Transpose trans_a : {Transpose::kNo, Transpose::kYes})
    for (const Transpose trans_b : {Transpose::kNo, Transpose::kYes}) {
      tall = !tall;
      Problem p = padded_problem(tall ? 200 : 37, tall ? 37 : 200, 41, trans_a, trans_b, 1.5f,
                                 trans_b == Transpose::kNo ? -0.5f : 0);
      p.epilogue = epilogue;
      const Answer answer = multiply(*context, p);
      expect(answer, Tier::kSplit, Reason::kPredicted);
      EXPECT_THAT(answer.shares, HasSubstr(tall ? " rows" : " columns"));
    }
}

TEST_F(SplitCalls, EveryKindOfTypesIsDivided) {
  for (const char* text : {"bf16_f16", "i8_i32", "f16xq4b32z", "f32xq4_k"}) {
    const Types types = parse_types(text);
    plant_both(equal(), {}, types);
    expect(multiply(*open_all(),
                    padded_problem(70, 200, 41, Transpose::kNo, Transpose::kNo, 1, 1.0f, types)),
           Tier::kSplit, Reason::kPredicted);
  }
}

TEST_F(SplitCalls, ABatchIsDividedByMatrices) {
  const auto context = open_all();
  for (const bool shared_b : {false, true}) {
    const Answer answer = multiply(
        *context, padded_batch(padded_problem(33, 18, 41, Transpose::kNo, Transpose::kYes, 1, 0.5f),
                               7, shared_b));
    expect(answer, Tier::kSplit, Reason::kPredicted);
    EXPECT_THAT(answer.shares, HasSubstr(" matrices"));
  }
}

TEST_F(SplitCalls, AClassThatIsNotTunedIsDividedToo) {
  const auto context = open_all();
  Problem p = large_;
  p.epilogue = parse_epilogue("bias_row+relu");
  expect(multiply(*context, p), Tier::kSplit, Reason::kPredicted);
}

TEST_F(SplitCalls, KernelsForHalfComputeCallsAlone) {
  const Guard half = {.precision = Precision::kHalf};
  expect(multiply(*open_all(), large_, half), Tier::kSplit, Reason::kPredicted);
  write_test_database(database_, device_, {fast_kernel(device_)}, {}, parse_types("f32_half"),
                      equal(), 0.9 * kKernelNs);
  EXPECT_NE(multiply(*open_all(), large_, half).tier, Tier::kSplit);
  expect(multiply(*open_all(), large_), Tier::kSplit, Reason::kPredicted);
}

TEST_F(SplitCalls, GuardsHoldForEveryPart) {
  const auto context = open_all();
  for (const Guard& guard : {Guard{.scan_range = true}, Guard{.check_spots = true},
                             Guard{.precision = Precision::kHigh}})
    expect(multiply(*context, large_, guard), Tier::kSplit, Reason::kPredicted);
  EXPECT_EQ(multiply(*context, large_, {.precision = Precision::kExact64}).tier, Tier::kHost64);
  Product product(large_);
  reinterpret_cast<float*>(product.stored_a_elements.data())[0] =
      std::numeric_limits<float>::infinity();
  GemmCall call = call_of(product);
  call.guard.scan_range = true;
  context->gemm(call);
  EXPECT_NE(context->last_answer()->tier, Tier::kSplit) << "devices must not get infinity";
}

TEST_F(SplitCalls, ADeterministicContextDividesNothing) {
  ContextOptions options = all();
  options.deterministic = Deterministic::kYes;
  Context context(options);
  EXPECT_NE(multiply(context, large_).tier, Tier::kSplit);
  EXPECT_THAT(context.explain({.problem = large_}).split.reason, HasSubstr("deterministic"));
}

TEST_F(SplitCalls, TheCallTheContextAndTheEnvironmentChoose) {
  const auto tier_of = [&](Context& context, Devices devices) {
    Product product(large_);
    GemmCall call = call_of(product);
    call.devices = devices;
    context.gemm(call);
    product.expect_right();
    return context.last_answer()->tier;
  };
  for (int turn = 0; turn < 2; ++turn) {
    const auto one = open(), every = open_all();
    EXPECT_NE(tier_of(*one, Devices::kDefault), Tier::kSplit);
    EXPECT_EQ(tier_of(*one, Devices::kAll), Tier::kSplit);
    EXPECT_NE(tier_of(*one, Devices::kDefault), Tier::kSplit) << "a decision was mixed up";
    EXPECT_EQ(tier_of(*every, Devices::kDefault), Tier::kSplit);
    EXPECT_NE(tier_of(*every, Devices::kOne), Tier::kSplit);
  }
  {
    const ScopedEnvironment all("ROOFTILE_DEVICES", "all");
    EXPECT_EQ(tier_of(*open(), Devices::kDefault), Tier::kSplit);
    const ScopedEnvironment one("ROOFTILE_DEVICE", "llvmpipe");
    const auto context = open();
    Product product(large_);
    context->gemm(call_of(product));
    EXPECT_THAT(context->last_answer()->shares, Not(HasSubstr("SwiftShader")));
  }
  const ScopedEnvironment wrong("ROOFTILE_DEVICES", "both");
  EXPECT_THAT([&] { open(); }, ::testing::ThrowsMessage<Error>(HasSubstr("known: one, all")));
}

TEST_F(SplitCalls, ForcedTiersAreKept) {
  const auto context = open_all();
  for (const TierChoice choice : {TierChoice::kDevice, TierChoice::kHost1}) {
    Product product(large_);
    context->gemm(call_of(product, choice));
    EXPECT_EQ(context->last_answer()->tier, tier_of(choice));
  }
}

TEST_F(SplitCalls, ShortCallsAndSharedProcessorsAreNotWorthIt) {
  EXPECT_NE(multiply(*open_all(), padded_problem(5, 7, 3, Transpose::kNo, Transpose::kNo)).tier,
            Tier::kSplit)
      << "less than one grain";
  device_.kind = second_.kind = DeviceKind::kSoftware;
  Calibration shared = equal();
  shared.device.compute_units = 1 << 20;  // All processors.
  plant_both(shared);
  const auto context = open_all();
  EXPECT_NE(multiply(*context, large_).tier, Tier::kSplit);
  EXPECT_THAT(context->explain({.problem = large_}).split.reason,
              HasSubstr("they share this machine's"));
}

TEST_F(SplitCalls, TheHostAnswersUntilKernelsAreCompiled) {
  ContextOptions options = all();
  options.while_compiling = WhileCompiling::kHostAnswers;
  Context context(options);
  EXPECT_NE(multiply(context, large_).tier, Tier::kSplit);
  EXPECT_TRUE(await("all kernels are compiled",
                    [&] { return multiply(context, large_).tier == Tier::kSplit; }));
}

TEST_F(SplitCalls, ManyThreadsMayCall) {
  const auto context = open_all();
  std::vector<std::jthread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&] {
      for (int i = 0; i < 4; ++i) EXPECT_EQ(multiply(*context, large_).tier, Tier::kSplit);
    });
}

TEST_F(SplitCalls, TheLogSaysWhoComputesWhat) {
  const ScopedEnvironment log("ROOFTILE_LOG", "decisions");
  EXPECT_THAT(said_by([&] { multiply(*open_all(), large_); }),
              AllOf(HasSubstr("330x90x70 nt f32: split: llvmpipe and SwiftShader Device and host"),
                    HasSubstr(" together ")));
  EXPECT_THAT(said_by([&] { multiply(*open_all(), large_, {.scan_range = true}); }),
              HasSubstr("330x90x70 nt f32: split: llvmpipe and SwiftShader Device and host"));
}

TEST_F(SplitCalls, TheCAbiSaysWhoComputedWhat) {
  const ScopedEnvironment compile("ROOFTILE_CACHE", cache_.string());
  rooftile_context* const context =
      opened(database_, {.no_measured_calls = 1, .devices = ROOFTILE_DEVICES_ALL});
  Product product(large_);
  rooftile_gemm_args args = problem_args(large_);
  rooftile_decision decision = {.struct_size = sizeof decision};
  const auto tier_of_call = [&] {
    product = Product(large_);
    args.a = product.stored_a_elements.data();
    args.b = product.stored_b_elements.data();
    args.c = product.c_data();
    EXPECT_EQ(rooftile_gemm(context, &args), ROOFTILE_OK) << rooftile_last_error();
    product.expect_right();
    EXPECT_EQ(rooftile_last_decision(context, &decision), ROOFTILE_OK) << rooftile_last_error();
    return decision.tier;
  };
  EXPECT_TRUE(await("kernels are compiled", [&] { return tier_of_call() == ROOFTILE_TIER_SPLIT; }));
  EXPECT_THAT(decision.split, AllOf(HasSubstr("llvmpipe "), HasSubstr(" rows")));
  const std::string shares = decision.split;
  EXPECT_EQ(rooftile_explain_gemm(context, &args, &decision), ROOFTILE_OK);
  EXPECT_EQ(decision.tier, ROOFTILE_TIER_SPLIT);
  EXPECT_EQ(decision.split, shares);
  EXPECT_GT(decision.split_ns, 0);
  EXPECT_LT(decision.split_ns, std::min(decision.device_ns, decision.host_ns));
  EXPECT_THAT(decision.split_reason, HasSubstr(" together "));
  args.devices = ROOFTILE_DEVICES_ONE;
  EXPECT_NE(tier_of_call(), ROOFTILE_TIER_SPLIT);
  EXPECT_STREQ(decision.split, "");
  rooftile_close(context);
}

// ---- Faults ----

class LostInTheMiddle : public SplitCalls, public ::testing::WithParamInterface<DriverCall> {};

TEST_P(LostInTheMiddle, TheOthersComputeItsPart) {
  const auto context = open_all();
  expect(multiply(*context, large_), Tier::kSplit, Reason::kPredicted);
  const std::string said = said_by([&] {
    FaultyDriver::fail_once(GetParam(), VK_ERROR_DEVICE_LOST);
    expect(multiply(*context, large_), Tier::kSplit, Reason::kFailed);
    const Answer next = multiply(*context, large_);
    expect(next, Tier::kSplit, Reason::kPredicted);
    const bool first = next.shares.find("llvmpipe") != std::string::npos,
               second = next.shares.find("SwiftShader") != std::string::npos;
    EXPECT_NE(first, second) << next.shares << ": one of the two was lost";
  });
  expect_one_line(said, "was lost: ");
}

TEST_P(LostInTheMiddle, TheHostComputesEverythingWhereAllAreLost) {
  const auto context = open_all();
  expect(multiply(*context, large_), Tier::kSplit, Reason::kPredicted);
  const std::string said = said_by([&] {
    FaultyDriver::fail(GetParam(), VK_ERROR_DEVICE_LOST);
    const Answer answer = multiply(*context, large_);
    EXPECT_EQ(answer.reason, Reason::kFailed);
    EXPECT_TRUE(answer.tier == Tier::kHost || answer.tier == Tier::kHost1);
    FaultyDriver::heal();
    EXPECT_NE(multiply(*context, large_).tier, Tier::kSplit);
  });
  EXPECT_EQ(std::ranges::count(said, '\n'), 2) << said;
}

TEST_P(LostInTheMiddle, AGuardedCallIsRightToo) {
  const auto context = open_all();
  const Guard high = {.precision = Precision::kHigh};
  expect(multiply(*context, large_, high), Tier::kSplit, Reason::kPredicted);
  said_by([&] {
    FaultyDriver::fail_once(GetParam(), VK_ERROR_DEVICE_LOST);
    expect(multiply(*context, large_, high), Tier::kSplit, Reason::kFailed);
  });
}
INSTANTIATE_TEST_SUITE_P(Found, LostInTheMiddle,
                         ::testing::Values(DriverCall::kSubmit, DriverCall::kWait),
                         [](const auto& found) {
                           return std::string(found.param == DriverCall::kSubmit ? "AtItsSubmission"
                                                                                 : "AtItsEnd");
                         });

TEST_F(SplitCalls, ADeviceThatHangsIsGivenUp) {
  const auto context = open_all();
  multiply(*context, large_);
  const std::string said = said_by([&] {
    FaultyDriver::fail(DriverCall::kWait, VK_TIMEOUT);
    EXPECT_EQ(multiply(*context, large_).reason, Reason::kFailed);
    FaultyDriver::heal();
    EXPECT_NE(multiply(*context, large_).tier, Tier::kSplit);
  });
  EXPECT_EQ(std::ranges::count(said, '\n'), 2) << said;
}

TEST_F(SplitCalls, ADeviceWithoutMemoryIsTriedAgain) {
  const auto context = open_all();
  const Problem larger = padded_problem(400, 300, 70, Transpose::kNo, Transpose::kYes, 1.5f, 0.5f);
  multiply(*context, large_);
  said_by([&] {
    FaultyDriver::limit_memory(FaultyDriver::memory_in_use());
    EXPECT_EQ(multiply(*context, larger).reason, Reason::kFailed);
    FaultyDriver::heal();
    EXPECT_TRUE(await("both devices take part again", [&] {
      const auto fresh = open_all();
      return multiply(*fresh, larger).tier == Tier::kSplit;
    }));
  });
}

TEST_F(SplitCalls, AForkedChildComputesOnTheHost) {
  SKIP_WITH_THREAD_SANITIZER();
  const auto context = open_all();
  multiply(*context, large_);
  EXPECT_EQ(in_a_child([&] {
              Product product(large_);
              context->gemm(call_of(product));
              product.expect_right();
              const Tier tier = context->last_answer()->tier;
              return tier == Tier::kHost || tier == Tier::kHost1;
            }),
            0);
  expect(multiply(*context, large_), Tier::kSplit, Reason::kPredicted);
}

TEST_F(SplitCalls, AContextMayBeClosedWhileItsDevicesAreOpened) {
  ContextOptions options = all();
  options.while_compiling = WhileCompiling::kHostAnswers;
  FaultyDriver::hold_next(DriverCall::kOpen);
  auto context = std::make_unique<Context>(options);
  multiply(*context, large_);
  FaultyDriver::await_held();
  std::jthread closing([&] { context = nullptr; });
  FaultyDriver::release();
}

class SplitWrongKernel : public SplitCalls {
 protected:
  void SetUp() override {
    SplitCalls::SetUp();
    ShaderCache(cache_).spirv(changed(emit_gemm(fast_kernel(device_), signature_of(large_)),
                                      "return alpha * sum + old;",
                                      "return alpha * sum * 1.01 + old;"));
  }
};

// Another check of the same kernel looks at other elements and might pass.
TEST_F(SplitWrongKernel, TheHostComputesAShareThatFailedItsCheck) {
  Calibration slow = equal();
  for (HostRates* host : {&slow.host, &slow.host1, &slow.host64})
    for (HostPoint& point : host->gemm) point.gflops /= 1000;
  plant_both(slow);  // A plan would send the share to a device once more.
  const auto context = open_all();
  Product unchecked(large_);
  context->gemm(call_of(unchecked));  // Kernels are compiled and devices open.
  const int submitted = FaultyDriver::calls(DriverCall::kSubmit);
  said_by([&] { EXPECT_EQ(multiply(*context, large_, checked_).reason, Reason::kPrecision); });
  EXPECT_EQ(FaultyDriver::calls(DriverCall::kSubmit), submitted + 2) << "one for each device";
}

TEST_F(SplitWrongKernel, AFailedCheckSendsItsPartToTheOthers) {
  const auto context = open_all();
  said_by([&] {
    const Answer answer = multiply(*context, large_, checked_);
    EXPECT_EQ(answer.reason, Reason::kPrecision);
    multiply(*context, large_, checked_);
  });
}

}  // namespace
}  // namespace rooftile
