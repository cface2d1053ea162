// Calls that are forced to a device on which nothing is tuned.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

#include "db/store.h"
#include "runtime/tuned/on_demand_kernels.h"
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

/// Another machine has tuned a card of this product, which has another version of the driver, for
/// plain float32 products, and its measurements were imported.
class KernelsOfAnotherCard : public UntunedDevice {
 protected:
  void SetUp() override {
    UntunedDevice::SetUp();
    card_ = another_card(device_);
    ASSERT_NE(theirs_, of_the_tables());
  }
  void import_kernels(const std::vector<Variant>& ranked) const {
    import_measured(database_, card_, ranked);
  }
  void make_wrong(const Variant& variant) const {
    ShaderCache(cache_).spirv(changed(emit_gemm(variant, signature_of(problem_)),
                                      "return alpha * sum + old;",
                                      "return alpha * sum * 1.01 + old;"));
  }
  static int lines_with(const std::string& said, const std::string& text) {
    int count = 0;
    for (std::size_t at = said.find(text); at != std::string::npos; at = said.find(text, at + 1))
      ++count;
    return count;
  }
  /// The kernel of such a call where nothing was imported.
  Variant of_the_tables() const { return default_kernel(device_, kernel_problem(problem_)); }
  Variant kernel_of_forced_call(const Problem& p) const {
    return *multiply_on_device(*open(), p).kernel;
  }

  const Variant theirs_ =
                    parse_variant("family=register tile_m=8 tile_n=16 reg_m=4 reg_n=4 unroll_k=4"),
                second_ = parse_variant("family=register tile_m=8 tile_n=8 reg_m=4 reg_n=4");
  DeviceProfile card_;
};

TEST_F(KernelsOfAnotherCard, AreCertifiedByForcedCalls) {
  import_kernels({theirs_, second_});
  EXPECT_EQ(kernel_of_forced_call(problem_), theirs_);
  Problem other_class = problem_;
  other_class.epilogue = parse_epilogue("relu");
  EXPECT_EQ(kernel_of_forced_call(other_class), theirs_) << "its nearest class";
}

TEST_F(KernelsOfAnotherCard, ComeBeforeClassesThatWereTunedHere) {
  write_test_database(database_, device_, {second_}, {}, parse_types("f16"), no_host());
  import_kernels({theirs_});
  const auto context = open();
  multiply(*context, problem_);
  context->wait_for_certificates();
  EXPECT_EQ(*multiply(*context, problem_).kernel, theirs_);
}

TEST_F(KernelsOfAnotherCard, AreCertifiedForEachSize) {
  import_kernels({theirs_});
  const Problem wide = packed_problem(33, 200, 65, Transpose::kNo, Transpose::kYes);
  {
    Store theirs(folder_ / "tuned.db-theirs");
    plant_winners(theirs, theirs.device_id(card_), wide, {{second_}});
  }
  Store(database_).import_from(folder_ / "tuned.db-theirs");
  {
    const auto context = open();  // Its calls wait for the best kernel.
    EXPECT_EQ(*multiply_on_device(*context, problem_).kernel, theirs_);
    EXPECT_EQ(*multiply_on_device(*context, wide).kernel, second_);
    EXPECT_EQ(*multiply_on_device(*context, problem_).kernel, theirs_);
  }
  std::filesystem::remove(database_);
  Store(database_).import_from(folder_ / "tuned.db-theirs");
  ContextOptions impatient = options();
  impatient.while_compiling = {};
  Context context(impatient);
  multiply_on_device(context, problem_);
  multiply_on_device(context, wide);
  context.wait_for_certificates();
  Product product(wide);
  EXPECT_EQ(context.explain(call_of(product, TierChoice::kDevice)).kernel, short_name(second_));
}

TEST_F(KernelsOfAnotherCard, ThatAreAllWrongLeaveTheAttemptsOfTheTables) {
  std::vector<Variant> wrong = {theirs_, second_, theirs_};
  wrong.back().unroll_k = 2;
  import_kernels(wrong);
  for (const Variant& variant : wrong) make_wrong(variant);
  Variant kernel;
  const std::string said = said_by([&] { kernel = kernel_of_forced_call(problem_); });
  EXPECT_EQ(lines_with(said, "is not certified on"), OnDemandKernels::kMostFailures) << said;
  EXPECT_EQ(kernel, of_the_tables());
}

TEST_F(KernelsOfAnotherCard, GiveWayToTheNextWhereTheyComputeWrongly) {
  import_kernels({theirs_});
  make_wrong(theirs_);
  Variant kernel;
  expect_one_line(said_by([&] { kernel = kernel_of_forced_call(problem_); }),
                  "is not certified on");
  EXPECT_EQ(kernel, of_the_tables());
}

TEST_F(KernelsOfAnotherCard, OfAnotherDriverOrProductAreNotTaken) {
  ++card_.driver_id;
  import_kernels({theirs_});
  EXPECT_EQ(kernel_of_forced_call(problem_), of_the_tables());
  --card_.driver_id, ++card_.device_id;
  import_kernels({theirs_});
  EXPECT_EQ(kernel_of_forced_call(problem_), of_the_tables());
}

}  // namespace
}  // namespace rooftile
