// Quick kernels on a device whose driver fails or is slow, while the best kernel is being
// compiled.
#include "tests/support/await.h"
#include "tests/support/blocked_threads.h"
#include "tests/support/fast_kernel.h"
#include "tests/support/faults_fixture.h"
#include "tests/support/gate.h"

namespace rooftile {
namespace {

using DriverCall = FaultyDriver::Call;
using ::testing::IsEmpty;

class QuickFaults : public Faults {
 protected:
  /// Opens a context whose quick kernel is ready, and whose best kernel waits at the gate.
  std::unique_ptr<Context> open_with_quick_kernel() const {
    auto context =
        std::make_unique<Context>(ContextOptions{.database = database_, .cache_folder = cache_});
    Product product(untuned_);
    context->gemm(call_of(product, TierChoice::kDevice));
    product.expect_right();
    EXPECT_TRUE(is(context->last_answer(), fallback_variant()));
    return context;
  }
  static bool is(const std::optional<Answer>& answer, const Variant& kernel) {
    return answer && answer->kernel != nullptr && *answer->kernel == kernel;
  }
  void expect_best_kernel_answers(Context& context) const {
    EXPECT_TRUE(await("the best kernel answers",
                      [&] { return is(multiply(context, untuned_), fast_kernel(device_)); }));
  }
};

// lavapipe compiles a kernel on the queue at its first dispatch.
TEST_F(QuickFaults, CallsDoNotWaitBehindTheCompilersDispatch) {
  Gate gate(cache_, fast_kernel(device_));
  const auto context = open_with_quick_kernel();
  FaultyDriver::hold_next(DriverCall::kWait);
  EXPECT_TRUE(gate.open());
  FaultyDriver::await_held();  // The first dispatch of the best kernel is held.
  for (int call = 0; call < 3; ++call)
    expect(multiply(*context, untuned_), Tier::kHost, Reason::kCompiling);
  FaultyDriver::release();
  Answer answer;
  ASSERT_TRUE(await("the device answers", [&] {
    answer = multiply(*context, untuned_);
    return answer.tier != Tier::kHost;
  }));
  EXPECT_TRUE(is(answer, fast_kernel(device_)));
}

TEST_F(QuickFaults, TheCompilersDispatchIsNotQueuedBeforeACall) {
  const int compiled = FaultyDriver::calls(DriverCall::kCompile);
  Gate gate(cache_, fast_kernel(device_));
  const auto context = open_with_quick_kernel();
  FaultyDriver::hold_next(DriverCall::kWait);
  std::thread computing([&] { EXPECT_TRUE(is(multiply(*context, untuned_), fallback_variant())); });
  FaultyDriver::await_held();
  const int submitted = FaultyDriver::calls(DriverCall::kSubmit);
  EXPECT_TRUE(gate.open());
  // These are the quick kernel, the best one, and the two that pack its A and B. The dispatch that
  // would follow at once is not submitted.
  EXPECT_TRUE(await("four kernels are compiled",
                    [&] { return FaultyDriver::calls(DriverCall::kCompile) >= compiled + 4; }));
  ASSERT_TRUE(await_all_asleep());
  EXPECT_EQ(FaultyDriver::calls(DriverCall::kSubmit), submitted);
  FaultyDriver::release();
  computing.join();
  expect_best_kernel_answers(*context);
}

TEST_F(QuickFaults, AQuickKernelThatCannotBeLaunchedIsSkipped) {
  Gate gate(cache_, fast_kernel(device_));
  const auto context = open_with_quick_kernel();
  expect_one_line(said_by([&] {
                    FaultyDriver::fail_once(DriverCall::kSubmit, VK_ERROR_INITIALIZATION_FAILED);
                    for (int call = 0; call < 3; ++call)
                      expect(multiply(*context, untuned_), Tier::kHost, Reason::kCompiling);
                  }),
                  "'" + short_name(fallback_variant()) + "' fails");
  EXPECT_TRUE(gate.open());
  expect_best_kernel_answers(*context);
}

TEST_F(QuickFaults, TheHostAnswersWhereTheDeviceIsLostMeanwhile) {
  Gate gate(cache_, fast_kernel(device_));
  const auto context = open_with_quick_kernel();
  expect_one_line(said_by([&] {
                    FaultyDriver::fail(DriverCall::kWait, VK_ERROR_DEVICE_LOST);
                    expect(multiply(*context, untuned_), Tier::kHost, Reason::kFailed);
                    expect(multiply(*context, untuned_), Tier::kHost, Reason::kPredicted);
                  }),
                  "was lost");
  EXPECT_TRUE(gate.open());
}

TEST_F(QuickFaults, AForcedCallReportsThatNeitherKernelHasMemory) {
  const auto context =
      std::make_unique<Context>(ContextOptions{.database = database_, .cache_folder = cache_});
  FaultyDriver::fail(DriverCall::kCompile, VK_ERROR_OUT_OF_HOST_MEMORY);
  said_by([&] { expect_forced_device_fails(*context, "ran out of memory"); });
  FaultyDriver::heal();
  EXPECT_THAT(said_by([&] {
                EXPECT_TRUE(await("the device answers",
                                  [&] { return multiply(*context).tier != Tier::kHost; }));
              }),
              IsEmpty());
}

}  // namespace
}  // namespace rooftile
