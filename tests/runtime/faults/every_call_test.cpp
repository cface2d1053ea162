// A schedule of faults: every call of the driver that a context makes, from its opening to its end,
// fails once in its turn, with the device lost from then on or with a lack of memory that passes.
// Calls under AUTO are right all the same, forced ones are right or leave C untouched. The number
// of points tried is printed; none is left out.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/failing_calls.h"
#include "tests/support/faults_fixture.h"

namespace rooftile {
namespace {

struct Schedule {
  std::string name;
  VkResult even, odd;  ///< Result of the points with even and with odd numbers.
  FailingCalls::Then then;
};

class EveryCall : public Faults, public ::testing::WithParamInterface<Schedule> {
 protected:
  void TearDown() override {
    FailingCalls::heal();
    Faults::TearDown();
  }

  /// Right, or refused with C as it was.
  void force_device(Context& context) const {
    Product product(problem_);
    try {
      context.gemm(call_of(product, TierChoice::kDevice));
      product.expect_right();
    } catch (const Error& error) {
      EXPECT_TRUE(product.c_is_untouched()) << error.what();
      EXPECT_NE(error.code(), ErrorCode::kInvalidArgument) << error.what();
      EXPECT_NE(error.code(), ErrorCode::kInternal) << error.what();
    }
  }

  /// All that a program does with a context.
  void use_context() const {
    const auto context = open();
    multiply(*context);
    force_device(*context);
    multiply(*context, checked_);
  }
};

TEST_P(EveryCall, FailsInItsTurnAndNoResultIsWrong) {
  use_context();  // Fills the shader cache, so that no point takes long.
  int points = 0;
  for (bool reached = true; reached; ++points) {
    SCOPED_TRACE(points);
    FailingCalls::fail_at(points, points % 2 == 0 ? GetParam().even : GetParam().odd,
                          GetParam().then);
    said_by([&] { use_context(); });
    reached = FailingCalls::calls() > points;
    SCOPED_TRACE(FailingCalls::first_to_fail());
    FailingCalls::heal();
    if (HasFailure()) FAIL() << "at call " << points << ", " << FailingCalls::first_to_fail();
  }
  EXPECT_GT(points, 50);
  RecordProperty("points", points);
  std::printf("%d points tried, none skipped\n", points);
  expect_sound_again();
}

INSTANTIATE_TEST_SUITE_P(
    Faults, EveryCall,
    ::testing::Values(Schedule{"LosesTheDevice", VK_ERROR_DEVICE_LOST, VK_ERROR_DEVICE_LOST,
                               FailingCalls::Then::kAllFail},
                      Schedule{"LacksMemory", VK_ERROR_OUT_OF_HOST_MEMORY,
                               VK_ERROR_OUT_OF_DEVICE_MEMORY, FailingCalls::Then::kRecovers}),
    [](const auto& schedule) { return schedule.param.name; });

}  // namespace
}  // namespace rooftile
