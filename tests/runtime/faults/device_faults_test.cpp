// Faults of a device in use, one test for each fault (docs/faults.md): the call returns right
// results, the fault is reported on stderr once, and later calls use what still works.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>
#include <thread>

#include "runtime/dispatch/context.h"
#include "runtime/kernel/step_time.h"
#include "tests/support/await.h"
#include "tests/support/blocked_threads.h"
#include "tests/support/fast_kernel.h"
#include "tests/support/faults_fixture.h"
#include "tests/support/forked_child.h"
#include "tests/support/gate.h"
#include "tests/support/refusal.h"
#include "tests/support/resident_fixture.h"

namespace rooftile {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using DriverCall = FaultyDriver::Call;

// ---- Several threads ----

/// A device that does not compute on the host's processors.
class FaultsOfGpu : public Faults {
 protected:
  void SetUp() override {
    Faults::SetUp();
    device_.kind = DeviceKind::kDiscrete;
    plant({fast_kernel(device_), fallback_variant()});
  }
  /// Two calls at once, of which the first is held while it waits for the device.
  std::vector<std::jthread> two_calls(Context& context) const {
    const auto call = [this, &context] {
      expect(multiply(context), Tier::kDevice, Reason::kPredicted);
    };
    FaultyDriver::hold_next(DriverCall::kWait);
    std::vector<std::jthread> calls;
    calls.emplace_back(call);
    FaultyDriver::await_held();
    calls.emplace_back(call);
    return calls;
  }
};

TEST_F(FaultsOfGpu, OperandsAreCopiedWhileTheDeviceComputesAnotherCall) {
  const auto context = open();
  multiply(*context);
  const std::uint64_t of_one = context->device_state().most_staging_bytes;
  const auto calls = two_calls(*context);
  EXPECT_TRUE(await("the second call's operands are copied",
                    [&] { return context->device_state().most_staging_bytes == 2 * of_one; }));
  FaultyDriver::release();
}

TEST_F(FaultsOfGpu, ACallThatFindsNoMemoryWaitsForTheCallsThatHoldIt) {
  const auto context = open();
  multiply(*context);
  FaultyDriver::limit_memory(FaultyDriver::memory_in_use());
  const int refused = FaultyDriver::allocations_refused();
  const auto calls = two_calls(*context);
  EXPECT_TRUE(await("the second call gets no memory",
                    [&] { return FaultyDriver::allocations_refused() > refused; }));
  FaultyDriver::release();
}

TEST_F(FaultsOfGpu, AForkedChildEndsWhileAThreadOfItsParentWaitsForRoom) {
  device_.device_memory_bytes = 64 << 10;  // An eighth of it is less than a call takes.
  plant({fast_kernel(device_), fallback_variant()});
  std::unique_ptr<Context> context = open();
  multiply(*context);
  const auto calls = two_calls(*context);
  EXPECT_TRUE(await_all_asleep());
  EXPECT_EQ(in_a_child([&] {
              context.reset();
              return true;
            }),
            0);
  FaultyDriver::release();
}

// ---- The device is lost ----

class LostDevice : public Faults, public ::testing::WithParamInterface<DriverCall> {};

TEST_P(LostDevice, TheHostAnswersACallDuringWhichTheDeviceIsLost) {
  const auto context = open();
  expect(multiply(*context), Tier::kDevice, Reason::kPredicted);
  const std::string said = said_by([&] {
    FaultyDriver::fail(GetParam(), VK_ERROR_DEVICE_LOST);
    expect(multiply(*context), Tier::kHost, Reason::kFailed);
    FaultyDriver::heal();
    for (int call = 0; call < 3; ++call)
      expect(multiply(*context), Tier::kHost, Reason::kPredicted);
    expect(multiply(*context, checked_), Tier::kHost, Reason::kPredicted);
  });
  expect_one_line(said, "the device " + device_.name + " was lost: ");
  const Decision decision = context->decide(problem_);
  EXPECT_EQ(decision.veto_name, Veto::kDeviceGone);
  EXPECT_THAT(decision.veto, HasSubstr("was lost"));
  expect_forced_device_fails(*context, "was lost");
  expect_sound_again();
}
INSTANTIATE_TEST_SUITE_P(Found, LostDevice,
                         ::testing::Values(DriverCall::kSubmit, DriverCall::kWait),
                         [](const auto& found) {
                           return std::string(found.param == DriverCall::kSubmit ? "AtItsSubmission"
                                                                                 : "AtItsEnd");
                         });

TEST_F(Faults, ALostDeviceIsReportedOnceByAllThreads) {
  const auto context = open();
  multiply(*context);
  FaultyDriver::fail(DriverCall::kWait, VK_ERROR_DEVICE_LOST, 5);
  expect_one_line(said_by([&] { multiply_by_threads(*context); }), "was lost");
}

TEST_F(Faults, ADeviceLostInAGuardedCallIsAnsweredByTheHost) {
  const auto context = open();
  const Guard guard = {.scan_range = true, .check_spots = true};
  expect(multiply(*context, guard), Tier::kDevice, Reason::kPredicted);
  expect(multiply(*context), Tier::kDevice, Reason::kPredicted);
  expect_one_line(said_by([&] {
                    FaultyDriver::fail(DriverCall::kWait, VK_ERROR_DEVICE_LOST);
                    expect(multiply(*context, guard), Tier::kHost, Reason::kFailed);
                  }),
                  "was lost");
  EXPECT_THAT(said_by([&] {
                expect(multiply(*context, guard), Tier::kHost, Reason::kPredicted);
                // The decision for this call was made before the loss.
                expect(multiply(*context), Tier::kHost, Reason::kPredicted);
              }),
              IsEmpty());
}

TEST_F(Faults, TheHostAnswersWhereTheDeviceIsLostBetweenStepsOfALongCall) {
  plant(database_, device_, {fast_kernel(device_)}, 8 * kStepNs);
  const auto context = open();
  Problem p = packed_problem(64, 64, 64);
  p.beta = 0.5f;
  expect(multiply(*context, p), Tier::kDevice, Reason::kPredicted);
  expect_one_line(said_by([&] {
                    FaultyDriver::fail(DriverCall::kWait, VK_ERROR_DEVICE_LOST, 1);
                    expect(multiply(*context, p), Tier::kHost, Reason::kFailed);
                  }),
                  "was lost");
}

TEST_F(Faults, ADeviceLostBetweenSlicesLeavesTheRestToTheHost) {
  DeviceProfile small = device_;
  small.limits.max_storage_buffer_range_bytes = 64 << 10;
  plant(database_, small, {fast_kernel(device_), fallback_variant()});
  const auto context = open();
  // A has 120,000 bytes.
  const Problem p = padded_problem(300, 60, 100, Transpose::kNo, Transpose::kNo, 1, 0.5f);
  expect(multiply(*context, p), Tier::kDevice, Reason::kPredicted);
  expect_one_line(said_by([&] {
                    FaultyDriver::fail(DriverCall::kWait, VK_ERROR_DEVICE_LOST, 1);
                    expect(multiply(*context, p), Tier::kHost, Reason::kFailed);
                    expect(multiply(*context, p), Tier::kHost, Reason::kPredicted);
                  }),
                  "was lost");
}

TEST_F(Faults, AForcedCallReturnsTheErrorOfItsFailedSlice) {
  DeviceProfile small = device_;
  small.limits.max_storage_buffer_range_bytes = 64 << 10;
  plant(database_, small, {fast_kernel(device_), fallback_variant()});
  const auto context = open();
  Product product(padded_problem(300, 60, 100, Transpose::kNo, Transpose::kNo, 1, 0.5f));
  context->gemm(call_of(product, TierChoice::kDevice));
  FaultyDriver::fail(DriverCall::kWait, VK_ERROR_DEVICE_LOST, 1);
  EXPECT_THAT(said_by([&] {
                EXPECT_THAT(
                    message_of([&] { context->gemm(call_of(product, TierChoice::kDevice)); },
                               ErrorCode::kDevice),
                    HasSubstr("waiting for commands"));
              }),
              IsEmpty());
}

TEST_F(Faults, TheHostAnswersWhereTheDeviceIsLostDuringCompilation) {
  Context context({.database = database_, .cache_folder = cache_});
  expect_one_line(said_by([&] {
                    FaultyDriver::fail(DriverCall::kWait, VK_ERROR_DEVICE_LOST);
                    expect(multiply(context), Tier::kHost, Reason::kCompiling);
                    // This call waits for the compiler.
                    expect_forced_device_fails(context, "lost");
                    multiply(context);
                    expect(multiply(context), Tier::kHost, Reason::kPredicted);
                  }),
                  "was lost");
}

// A process that is stopped finds its wait over when it goes on, and the work unfinished.
TEST_F(Faults, AWaitThatAStopCutsShortGoesOn) {
  const auto context = open();
  multiply(*context);
  FaultyDriver::fail_once(DriverCall::kWait, VK_TIMEOUT);
  expect(multiply(*context), Tier::kDevice, Reason::kPredicted);
  EXPECT_EQ(FaultyDriver::failed(DriverCall::kWait), 1);
}

class FaultsDeathTest : public Faults {
 protected:
  /// Exits with status 0 if all checks pass, without waiting for the work that the device still
  /// does.
  [[noreturn]] void hang() {
    ::alarm(60);  // Turns a hang of this test into a failure.
    Context* const context = open().release();
    multiply(*context);
    expect_one_line(said_by([&] {
                      FaultyDriver::fail(DriverCall::kWait, VK_TIMEOUT);
                      expect(multiply(*context), Tier::kHost, Reason::kFailed);
                      EXPECT_EQ(FaultyDriver::waited_in_vain_ns(), 10e9);
                      FaultyDriver::heal();
                      expect(multiply(*context), Tier::kHost, Reason::kPredicted);
                    }),
                    "the device is not used any more;");
    EXPECT_EQ(FaultyDriver::calls(DriverCall::kOutlast), 0);
    std::filesystem::remove_all(folder_.path());
    std::_Exit(HasFailure() ? 1 : 0);
  }
};

TEST_F(FaultsDeathTest, TheHostAnswersWhereTheDeviceHangs) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  EXPECT_EXIT(hang(), testing::ExitedWithCode(0), "");
}

class FaultsOnDeviceBuffers : public ResidentTest {
 protected:
  void TearDown() override {
    FaultyDriver::heal();
    ResidentTest::TearDown();
  }
};

TEST_F(FaultsOnDeviceBuffers, WorkOnALostDeviceFailsAndHostPointerCallsStillWork) {
  open({fast_kernel(device_)});
  Product product(padded_problem(33, 17, 65, Transpose::kNo, Transpose::kNo));
  const ProblemArgs problem(product);
  const rooftile_resident_operands operands = operands_of(product);
  FaultyDriver::fail(DriverCall::kSubmit, VK_ERROR_DEVICE_LOST);
  for (int call = 0; call < 2; ++call) {
    EXPECT_EQ(rooftile_resident_gemm(context_, &problem.args, &operands, nullptr),
              ROOFTILE_DEVICE_ERROR);
    EXPECT_THAT(rooftile_last_error(), HasSubstr("lost"));
    FaultyDriver::heal();  // The device stays lost.
  }
  rooftile_gemm_args args = problem.args;
  args.a = product.a.data();
  args.b = product.b.data();
  args.c = product.c.data();
  ok(rooftile_gemm(context_, &args));
  product.expect_right();
}

// ---- Calls on host memory and on device buffers share one kernel cache ----

rooftile_gemm_args forced_host_call(const ProblemArgs& problem, Product& product) {
  rooftile_gemm_args args = problem.args;
  args.a = product.a.data();
  args.b = product.b.data();
  args.c = product.c.data();
  args.tier = ROOFTILE_TIER_DEVICE;
  return args;
}

TEST_F(FaultsOnDeviceBuffers, AKernelIsCompiledOnceForHostMemoryAndDeviceBuffers) {
  const Problem p = padded_problem(33, 17, 65, Transpose::kNo, Transpose::kNo);
  for (const bool buffers_first : {false, true}) {
    open({fast_kernel(device_)});
    int compiled = 0;  // pipelines that exist before the second call
    for (const bool on_buffers : {buffers_first, !buffers_first}) {
      const int before = FaultyDriver::calls(DriverCall::kCompile);
      Product product(p);
      if (on_buffers) {
        expect_right(product);
      } else {
        const ProblemArgs problem(product);
        const rooftile_gemm_args args = forced_host_call(problem, product);
        ok(rooftile_gemm(context_, &args));
        product.expect_right();
      }
      compiled = FaultyDriver::calls(DriverCall::kCompile) - before;
    }
    EXPECT_EQ(compiled, 0) << (buffers_first ? "buffers first" : "host memory first");
  }
}

TEST_F(FaultsOnDeviceBuffers, AKernelThatFailsOnHostMemoryIsNotUsedOnDeviceBuffers) {
  open({fast_kernel(device_)});
  Product product(padded_problem(33, 17, 65, Transpose::kNo, Transpose::kNo));
  const ProblemArgs problem(product);
  const rooftile_gemm_args args = forced_host_call(problem, product);
  FaultyDriver::fail_once(DriverCall::kSubmit, VK_ERROR_UNKNOWN);
  EXPECT_EQ(rooftile_gemm(context_, &args), ROOFTILE_DEVICE_ERROR);
  EXPECT_STREQ(prepared(product, operands_of(product)).kernel,
               short_name(fallback_variant()).c_str());
}

// ---- The device has no memory left ----

TEST_F(Faults, TheHostAnswersWhileDeviceMemoryIsShort) {
  const auto context = open();
  expect(multiply(*context), Tier::kDevice, Reason::kPredicted);
  const Problem larger = packed_problem(300, 200, 50);
  expect_one_line(said_by([&] {
                    FaultyDriver::limit_memory(FaultyDriver::memory_in_use());
                    for (int call = 0; call < 3; ++call)
                      expect(multiply(*context, larger), Tier::kHost, Reason::kFailed);
                    expect(multiply(*context), Tier::kDevice, Reason::kPredicted);
                    FaultyDriver::heal();
                    expect(multiply(*context, larger), Tier::kDevice, Reason::kPredicted);
                  }),
                  "no memory on " + device_.name);
  EXPECT_EQ(context->decide(larger).veto_name, Veto::kNone);
}

TEST_F(Faults, BuffersKeptForOtherSizesAreFreedBeforeMemoryRunsOut) {
  const auto context = open();
  expect(multiply(*context, packed_problem(600, 400, 20)), Tier::kDevice, Reason::kPredicted);
  FaultyDriver::limit_memory(FaultyDriver::memory_in_use());
  EXPECT_THAT(said_by([&] {
                expect(multiply(*context, packed_problem(200, 100, 100)), Tier::kDevice,
                       Reason::kPredicted);
              }),
              IsEmpty());
}

TEST_F(Faults, TheHostAnswersWhileTheDeviceCannotBeOpenedForLackOfMemory) {
  const auto context = open();
  Context in_background({.database = database_, .cache_folder = cache_});
  constexpr int kFarTooMany = 100'000;
  for (Context* user : {context.get(), &in_background}) {
    FaultyDriver::fail(DriverCall::kOpen, VK_ERROR_OUT_OF_DEVICE_MEMORY);
    expect_one_line(said_by([&] {
                      int calls = 0;
                      for (; FaultyDriver::failed(DriverCall::kOpen) < 3 && calls < kFarTooMany;
                           ++calls)
                        EXPECT_EQ(multiply(*user).tier, Tier::kHost);
                      expect_forced_device_fails(*user, "ran out of memory");
                      FaultyDriver::heal();
                      while (multiply(*user).tier != Tier::kDevice && calls < kFarTooMany) ++calls;
                      EXPECT_LT(calls, kFarTooMany);
                    }),
                    "no memory on " + device_.name);
  }
}

// The second kernel finds the device open and is compiled. The first kernel is still requested.
TEST_F(Faults, TheFirstKernelIsTriedAgainWhenMemoryIsBackForTheSecond) {
  Context in_background({.database = database_, .cache_folder = cache_});
  FaultyDriver::fail_once(DriverCall::kOpen, VK_ERROR_OUT_OF_DEVICE_MEMORY);
  expect_one_line(said_by([&] {
                    constexpr int kFarTooMany = 100'000;
                    int calls = 0;
                    while (multiply(in_background).tier != Tier::kDevice && calls < kFarTooMany)
                      ++calls;
                    EXPECT_LT(calls, kFarTooMany);
                  }),
                  "no memory on " + device_.name);
  EXPECT_EQ(FaultyDriver::failed(DriverCall::kOpen), 1);
}

TEST_F(Faults, TheHostAnswersWhileTheCompilerLacksMemory) {
  const auto context = open();
  expect_one_line(said_by([&] {
                    FaultyDriver::fail(DriverCall::kCompile, VK_ERROR_OUT_OF_HOST_MEMORY);
                    for (int call = 0; call < 3; ++call)
                      expect(multiply(*context), Tier::kHost, Reason::kFailed);
                    expect_forced_device_fails(*context, "ran out of memory");
                    FaultyDriver::heal();
                    expect(multiply(*context), Tier::kDevice, Reason::kPredicted);
                  }),
                  "no memory on " + device_.name);
}

TEST_F(Faults, ABackgroundCompilationWithoutMemoryIsReported) {
  Gate gate(cache_, fast_kernel(device_));
  auto context =
      std::make_unique<Context>(ContextOptions{.database = database_, .cache_folder = cache_});
  FaultyDriver::fail(DriverCall::kCompile, VK_ERROR_OUT_OF_HOST_MEMORY);
  expect_one_line(said_by([&] {
                    expect(multiply(*context, untuned_), Tier::kHost, Reason::kCompiling);
                    EXPECT_TRUE(gate.open());
                    context.reset();  // waits for the compiler
                  }),
                  "no memory on " + device_.name);
}

// ---- The driver disappears ----

TEST_F(Faults, TheHostAnswersWhereTheDriverDisappearsAfterTheStart) {
  const auto context = open();
  ASSERT_EQ(context->decide(problem_).tier, Tier::kDevice);
  expect_one_line(said_by([&] {
                    FaultyDriver::fail(DriverCall::kEnumerate, VK_ERROR_INITIALIZATION_FAILED);
                    expect(multiply(*context), Tier::kHost, Reason::kFailed);
                    for (int call = 0; call < 3; ++call)
                      expect(multiply(*context), Tier::kHost, Reason::kPredicted);
                  }),
                  "is not here or its driver has changed");
  EXPECT_EQ(context->decide(problem_).veto_name, Veto::kDeviceGone);
  expect_forced_device_fails(*context, "is not here");
  expect_sound_again();
}

TEST_F(Faults, WithoutADriverAForcedCallReturnsTheErrorAndTheFirstHostCallWarns) {
  const auto context = open();
  FaultyDriver::fail(DriverCall::kEnumerate, VK_ERROR_INITIALIZATION_FAILED);
  EXPECT_THAT(said_by([&] { expect_forced_device_fails(*context, "is not here"); }), IsEmpty());
  expect_one_line(said_by([&] {
                    for (int call = 0; call < 3; ++call)
                      expect(multiply(*context), Tier::kHost, Reason::kPredicted);
                  }),
                  "is not here or its driver has changed");
}

TEST_F(Faults, AGuardedCallAfterAForcedOneWarnsAsWell) {
  const auto context = open();
  FaultyDriver::fail(DriverCall::kEnumerate, VK_ERROR_INITIALIZATION_FAILED);
  expect_forced_device_fails(*context, "is not here");
  expect_one_line(
      said_by([&] { expect(multiply(*context, checked_), Tier::kHost, Reason::kPredicted); }),
      "is not here or its driver has changed");
}

TEST_F(Faults, NothingIsReportedWithTheLogOff) {
  const ScopedEnvironment off("ROOFTILE_LOG", "off");
  const auto context = open();
  EXPECT_THAT(said_by([&] {
                FaultyDriver::fail(DriverCall::kEnumerate, VK_ERROR_INITIALIZATION_FAILED);
                expect(multiply(*context), Tier::kHost, Reason::kFailed);
              }),
              IsEmpty());
}

}  // namespace
}  // namespace rooftile
