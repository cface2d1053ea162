// While the best kernel is being compiled, a kernel that compiles quickly answers calls that
// permit different bits.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <rooftile/rooftile.hpp>
#include <thread>

#include "generator/space.h"
#include "runtime/device/device.h"
#include "runtime/dispatch/context.h"
#include "tests/support/await.h"
#include "tests/support/c_api_fixture.h"
#include "tests/support/call_of.h"
#include "tests/support/fast_kernel.h"
#include "tests/support/first_device.h"
#include "tests/support/gate.h"
#include "tests/support/scratch.h"
#include "tests/support/synthetic_database.h"

namespace rooftile {
namespace {

using ::testing::HasSubstr;

class QuickAnswers : public ::testing::Test {
 protected:
  void SetUp() override {
    device_ = first_device();
    best_ = fast_kernel(device_);
    plant(1e5, 1e5, slow_host());
  }
  /// Stores times for the tuned problem, which is about as large as the computed one.
  void plant(double best_ns, double quick_ns, const Calibration& host, bool certified = true) {
    std::filesystem::remove(database_);
    write_test_database(database_, device_, {best_, quick_}, {}, {}, host);
    Store store(database_);
    const RowId row = store.device_id(device_);
    const Problem tuned = packed_problem(64, 64, 64);
    const auto candidate = [&](const Variant& variant) {
      return candidate_row(store, variant, {});
    };
    const RowId problem = store.problem_id(tuned);
    store.put_winners(
        row, to_string(bucket_of(tuned)),
        {{{.candidate = candidate(best_), .problem = problem, .rank = 0, .kernel_ns = best_ns},
          {.candidate = candidate(quick_), .problem = problem, .rank = 1, .kernel_ns = quick_ns}}});
    if (!certified)
      store.put_certificate(row, candidate(quick_), kGeneratorVersion, false, "planted");
  }
  std::unique_ptr<Context> open(Deterministic deterministic = Deterministic::kNo,
                                WhileCompiling what = WhileCompiling::kHostAnswers) const {
    return std::make_unique<Context>(ContextOptions{.database = database_,
                                                    .cache_folder = cache_,
                                                    .deterministic = deterministic,
                                                    .while_compiling = what});
  }
  /// Makes the call, checks its result and returns how it was answered.
  static Answer multiply(Context& context, TierChoice tier = TierChoice::kAuto) {
    Product product(padded_problem(70, 50, 90, Transpose::kNo, Transpose::kNo));
    context.gemm(call_of(product, tier));
    product.expect_right();
    return context.last_answer().value();
  }
  static void expect(const Answer& answer, Reason reason, const Variant& kernel) {
    EXPECT_EQ(answer.tier, Tier::kDevice);
    EXPECT_EQ(answer.reason, reason);
    ASSERT_NE(answer.kernel, nullptr);
    EXPECT_EQ(*answer.kernel, kernel);
  }
  static void expect_host(const Answer& answer) {
    EXPECT_EQ(answer.tier, Tier::kHost);
    EXPECT_EQ(answer.reason, Reason::kCompiling);
    EXPECT_EQ(answer.kernel, nullptr);
  }
  /// Repeats the call until that kernel answers. Until then the host or the quick kernel answers.
  void multiply_until(Context& context, const Variant& kernel) const {
    EXPECT_TRUE(await("the kernel answers", [&] {
      const Answer answer = multiply(context);
      if (answer.kernel == nullptr) {
        expect_host(answer);
        return false;
      }
      const bool answers = *answer.kernel == kernel;
      expect(answer, Reason::kPredicted, answers ? kernel : quick_);
      return answers;
    }));
  }
  bool was_compiled(const Variant& variant) const {
    return std::filesystem::exists(cache_ / "spirv" / (emit_gemm(variant, {}).hash + ".spv"));
  }

  ScratchFolder folder_;
  const std::filesystem::path database_ = folder_ / "tuned.db", cache_ = folder_ / "cache";
  DeviceProfile device_;
  Variant best_;
  const Variant quick_ = fallback_variant();
};

TEST_F(QuickAnswers, TheQuickKernelAnswersUntilTheBestOneIsCompiled) {
  Gate gate(cache_, best_);
  const std::unique_ptr<Context> context = open();
  expect(multiply(*context, TierChoice::kDevice), Reason::kForced, quick_);
  for (int call = 0; call < 3; ++call) expect(multiply(*context), Reason::kPredicted, quick_);
  EXPECT_TRUE(gate.open());
  multiply_until(*context, best_);
  expect(multiply(*context, TierChoice::kDevice), Reason::kForced, best_);
  EXPECT_EQ(context->device_state().last_failure, "");
}

TEST_F(QuickAnswers, CallsDoNotWaitForTheQuickKernelEither) {
  Gate quick(cache_, quick_), best(cache_, best_);
  const std::unique_ptr<Context> context = open();
  for (int call = 0; call < 3; ++call) expect_host(multiply(*context));
  EXPECT_TRUE(quick.open());
  multiply_until(*context, quick_);
  EXPECT_TRUE(best.open());
  multiply_until(*context, best_);
}

TEST_F(QuickAnswers, AForcedDeviceUsesTheFirstOfTheTwoThatIsCompiled) {
  Gate quick(cache_, quick_), best(cache_, best_);
  const std::unique_ptr<Context> context = open();
  expect_host(multiply(*context));
  std::optional<Answer> waited;
  std::thread waiting([&] { waited = multiply(*context, TierChoice::kDevice); });
  EXPECT_TRUE(quick.open());
  waiting.join();
  expect(*waited, Reason::kForced, quick_);
  EXPECT_TRUE(best.open());
}

TEST_F(QuickAnswers, GuardedCallsUseTheQuickKernelAsWell) {
  Gate gate(cache_, best_);
  const std::unique_ptr<Context> context = open();
  Product product(padded_problem(70, 50, 90, Transpose::kNo, Transpose::kNo));
  for (const TierChoice tier : {TierChoice::kDevice, TierChoice::kAuto}) {
    GemmCall call = call_of(product, tier);
    call.guard.check_spots = true;
    context->gemm(call);
    product.expect_right();
    expect(*context->last_answer(),
           tier == TierChoice::kDevice ? Reason::kForced : Reason::kPredicted, quick_);
  }
  EXPECT_TRUE(gate.open());
}

TEST_F(QuickAnswers, AnUncertifiedQuickKernelIsNotUsed) {
  plant(1e5, 1e5, slow_host(), false);
  Gate gate(cache_, best_);
  const std::unique_ptr<Context> context = open();
  expect_host(multiply(*context));
  std::optional<Answer> waited;
  std::thread waiting([&] { waited = multiply(*context, TierChoice::kDevice); });
  EXPECT_TRUE(gate.open());
  waiting.join();
  expect(*waited, Reason::kForced, best_);
  EXPECT_FALSE(was_compiled(quick_));
}

TEST_F(QuickAnswers, ADeterministicContextUsesNoQuickKernel) {
  for (const auto& [deterministic, what] :
       {std::pair{Deterministic::kYes, WhileCompiling::kHostAnswers},
        std::pair{Deterministic::kNo, WhileCompiling::kWait}})
    for (const TierChoice tier : {TierChoice::kAuto, TierChoice::kDevice}) {
      std::filesystem::remove_all(cache_);
      Gate gate(cache_, best_);
      const std::unique_ptr<Context> context = open(deterministic, what);
      EXPECT_EQ(context->explain({.problem = packed_problem(70, 50, 90)}).quick_kernel, "");
      std::optional<Answer> waited;
      std::thread waiting([&] { waited = multiply(*context, tier); });
      EXPECT_TRUE(gate.open());
      waiting.join();
      expect(*waited, tier == TierChoice::kAuto ? Reason::kPredicted : Reason::kForced, best_);
      EXPECT_FALSE(was_compiled(quick_));
    }
}

TEST_F(QuickAnswers, ARankOfAnMpiProgramWaitsForTheBestKernelAsTheOthersDo) {
  const ScopedEnvironment ranks("OMPI_COMM_WORLD_SIZE", "4"), log("ROOFTILE_LOG", "decisions");
  Gate gate(cache_, best_);
  testing::internal::CaptureStderr();
  Context context({.database = database_, .cache_folder = cache_});
  std::optional<Answer> waited;
  std::thread waiting([&] { waited = multiply(context); });
  EXPECT_TRUE(gate.open());
  waiting.join();
  EXPECT_THAT(testing::internal::GetCapturedStderr(),
              HasSubstr("rooftile: this is one of 4 MPI ranks, which decide alike: calls wait for "
                        "their best kernel and are not measured\n"));
  expect(*waited, Reason::kPredicted, best_);
  EXPECT_FALSE(was_compiled(quick_));
}

TEST_F(QuickAnswers, TheQuickKernelIsNotUsedWhereTheHostIsFaster) {
  plant(1e4, 1e6, even_host());  // The host takes 130 us.
  Gate gate(cache_, best_);
  const std::unique_ptr<Context> context = open();
  const GemmCall call = {.problem = packed_problem(70, 50, 90)};
  ASSERT_EQ(context->explain(call).decision.tier, Tier::kDevice);
  EXPECT_EQ(context->explain(call).quick_kernel, "");
  GemmCall forced = call;
  forced.tier = TierChoice::kDevice;
  EXPECT_EQ(context->explain(forced).quick_kernel, short_name(quick_));
  expect_host(multiply(*context));
  EXPECT_TRUE(gate.open());
  Answer answer;
  ASSERT_TRUE(await("a kernel answers", [&] {
    answer = multiply(*context);
    if (answer.kernel == nullptr) expect_host(answer);
    return answer.kernel != nullptr;
  }));
  expect(answer, Reason::kPredicted, best_);
  EXPECT_FALSE(was_compiled(quick_));
}

TEST_F(QuickAnswers, AQuickKernelThatDoesNotCompileIsSkipped) {
  Gate quick(cache_, quick_), best(cache_, best_);
  const std::unique_ptr<Context> context = open();
  testing::internal::CaptureStderr();
  expect_host(multiply(*context));
  std::optional<Answer> waited;
  std::thread waiting([&] { waited = multiply(*context, TierChoice::kDevice); });
  EXPECT_TRUE(quick.open_with_damage());
  EXPECT_TRUE(best.open());
  waiting.join();
  expect(*waited, Reason::kForced, best_);
  const std::string said = testing::internal::GetCapturedStderr();
  EXPECT_THAT(said, HasSubstr("'" + short_name(quick_) + "' fails"));
  EXPECT_EQ(std::ranges::count(said, '\n'), 1) << said;
}

TEST_F(QuickAnswers, TheQuickKernelStaysIfTheBestOneDoesNotCompile) {
  Gate gate(cache_, best_);
  const std::unique_ptr<Context> context = open();
  testing::internal::CaptureStderr();
  expect(multiply(*context, TierChoice::kDevice), Reason::kForced, quick_);
  EXPECT_TRUE(gate.open_with_damage());
  EXPECT_TRUE(await("the best kernel has failed", [&] {
    multiply(*context);
    return !context->device_state().last_failure.empty();
  }));
  expect(multiply(*context), Reason::kPredicted, quick_);
  expect(multiply(*context, TierChoice::kDevice), Reason::kForced, quick_);
  const std::string said = testing::internal::GetCapturedStderr();
  EXPECT_THAT(said, HasSubstr("'" + short_name(best_) + "' fails"));
  EXPECT_EQ(std::ranges::count(said, '\n'), 1) << said;
}

TEST_F(QuickAnswers, ClosingWaitsForTheRunningCompilation) {
  for (const bool quick_is_there : {false, true}) {
    std::filesystem::remove_all(cache_);
    Gate gate(cache_, quick_is_there ? best_ : quick_);
    std::unique_ptr<Context> context = open();
    if (quick_is_there)
      expect(multiply(*context, TierChoice::kDevice), Reason::kForced, quick_);
    else
      expect_host(multiply(*context));
    gate.meet();
    bool let_through = false;
    std::thread opening([&] { let_through = gate.open(); });
    context.reset();
    opening.join();
    EXPECT_TRUE(let_through) << "the context was destroyed while the compiler still used it";
  }
}

TEST_F(QuickAnswers, ExplainNamesTheQuickKernelUntilTheBestOneIsCompiled) {
  Gate gate(cache_, best_);
  const ScopedEnvironment log("ROOFTILE_LOG", "decisions"),
      cache("ROOFTILE_CACHE", cache_.string());
  const std::string database = database_.string();
  Product product(padded_problem(70, 50, 90, Transpose::kNo, Transpose::kNo));
  testing::internal::CaptureStderr();
  {
    Session session({.database_path = database.c_str()});
    rooftile_gemm_args args = problem_args(product.problem);
    args.a = product.stored_a_elements.data();
    args.b = product.stored_b_elements.data();
    args.c = product.c_data();
    args.tier = ROOFTILE_TIER_DEVICE;
    session.gemm(args);
    EXPECT_EQ(session.last_decision().kernel, short_name(quick_));
    args.tier = ROOFTILE_TIER_AUTO;
    session.gemm(args);
    EXPECT_EQ(session.last_decision().kernel, short_name(quick_));
    EXPECT_EQ(session.last_decision().reason, ROOFTILE_REASON_PREDICTED);
    EXPECT_TRUE(gate.open());
  }
  EXPECT_THAT(testing::internal::GetCapturedStderr(),
              HasSubstr("; kernel " + short_name(best_) + ", while that is compiled " +
                        short_name(quick_) + "\n"));
  EXPECT_EQ(open()->explain({.problem = product.problem}).quick_kernel, short_name(quick_));
}

TEST_F(QuickAnswers, NothingElseIsCompiledForTheOnlyKernel) {
  std::filesystem::remove(database_);
  write_test_database(database_, device_, {best_}, {}, {}, slow_host());
  const std::unique_ptr<Context> context = open();
  EXPECT_EQ(context->explain({.problem = packed_problem(70, 50, 90)}).quick_kernel, "");
  expect(multiply(*context, TierChoice::kDevice), Reason::kForced, best_);
  EXPECT_FALSE(was_compiled(quick_));
}

}  // namespace
}  // namespace rooftile
