// Calls that are forced to a device on which nothing is tuned.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

#include "db/store.h"
#include "tests/support/faults_fixture.h"

namespace rooftile {
namespace {

using ::testing::HasSubstr;
using DriverCall = FaultyDriver::Call;

class UntunedDevice : public Faults {
 protected:
  void SetUp() override {
    Faults::SetUp();
    std::filesystem::remove(database_);
  }
  static Answer multiply_on_device(Context& context, const Problem& p, const Guard& guard = {}) {
    Product product(p);
    GemmCall call = call_of(product, TierChoice::kDevice);
    call.guard = guard;
    context.gemm(call);
    product.expect_right();
    return context.last_answer().value();
  }
  static void expect_on_device(const Answer& answer) {
    expect(answer, Tier::kDevice, Reason::kForced);
    EXPECT_NE(answer.kernel, nullptr);
  }
};

TEST_F(UntunedDevice, ComputesForcedCallsOfEachKind) {
  const auto context = open();
  for (Problem p : {padded_problem(33, 17, 65, Transpose::kNo, Transpose::kYes, 1, 0.5f),
                    padded_problem(1, 130, 70, Transpose::kYes, Transpose::kNo),
                    padded_problem(12, 9, 20, Transpose::kYes, Transpose::kYes, 3)}) {
    expect_on_device(multiply_on_device(*context, p));
    p.epilogue = parse_epilogue("bias_column+relu");
    expect_on_device(multiply_on_device(*context, p));
  }
  Problem half = packed_problem(37, 21, 19);
  half.types = parse_types("f16");
  expect_on_device(multiply_on_device(*context, half));
  expect_on_device(multiply_on_device(*context, problem_, checked_));
}

TEST_F(UntunedDevice, LeavesOtherCallsToTheHost) {
  const auto context = open();
  expect(multiply(*context), Tier::kHost, Reason::kPredicted);
  expect_on_device(multiply_on_device(*context, problem_));
  expect(multiply(*context), Tier::kHost, Reason::kPredicted);
}

TEST_F(UntunedDevice, IsOpenedOnceByThreads) {
  const auto context = open();
  std::vector<std::jthread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&] { expect_on_device(multiply_on_device(*context, problem_)); });
}

TEST_F(UntunedDevice, IsExplainedByAForcedCall) {
  const auto context = open();
  Product product(problem_);
  const Explanation before = context->explain(call_of(product, TierChoice::kDevice));
  EXPECT_EQ(before.decision.tier, Tier::kDevice);
  EXPECT_EQ(before.device_name, device_.name);
  EXPECT_EQ(before.forced_device, "certifies_first");
  multiply_on_device(*context, problem_);
  const Explanation after = context->explain(call_of(product, TierChoice::kDevice));
  EXPECT_EQ(after.means, "certified");
  EXPECT_NE(after.kernel, "");
  EXPECT_EQ(after.forced_device, "runs");
}

TEST_F(UntunedDevice, StoresItsCertificatesWhereTheDatabaseKnowsIt) {
  Store(database_).device_id(device_);
  const auto context = open();
  const Answer first = multiply_on_device(*context, problem_);
  expect_on_device(first);
  Product product(problem_);
  const Explanation next = open()->explain(call_of(product, TierChoice::kDevice));
  EXPECT_EQ(next.means, "certified") << "before its first call";
  EXPECT_EQ(next.kernel, short_name(*first.kernel));
}

TEST_F(UntunedDevice, ThatFailsIsAnError) {
  const auto context = open();
  FaultyDriver::fail(DriverCall::kOpen, VK_ERROR_INITIALIZATION_FAILED);
  expect_forced_device_fails(*context, device_.name);
}

TEST_F(UntunedDevice, IsRefusedInADeterministicContext) {
  ContextOptions deterministic = options();
  deterministic.deterministic = Deterministic::kYes;
  Context context(deterministic);
  expect_forced_device_fails(context, "a deterministic context certifies no kernels");
}

TEST_F(UntunedDevice, IsNotReplacedByAnotherOneThanTheWanted) {
  ContextOptions other = options();
  other.device = "no such device";
  Context context(other);
  expect_forced_device_fails(context, "no Vulkan device that matches 'no such device'");
}

TEST_F(UntunedDevice, IsSaidWhereTheNamedDatabaseIsMissing) {
  ContextOptions forced = options();
  forced.tier = TierChoice::kDevice;
  EXPECT_THAT(said_by([&] { const Context context(forced); }),
              HasSubstr("calls compute on the host unless they force the device"));
}

}  // namespace
}  // namespace rooftile
