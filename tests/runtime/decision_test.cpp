// Decisions are reported by rooftile_last_decision and by ROOFTILE_LOG=decisions.
#include <algorithm>
#include <rooftile/rooftile.hpp>
#include <thread>
#include <utility>
#include <vector>

#include "generator/space.h"
#include "runtime/device/device.h"
#include "runtime/dispatch/context.h"
#include "runtime/dispatch/decision_log.h"
#include "tests/support/c_api_fixture.h"
#include "tests/support/call_of.h"
#include "tests/support/first_device.h"
#include "tests/support/synthetic_database.h"

namespace rooftile {
namespace {

using ::testing::HasSubstr;
using ::testing::MatchesRegex;

class LastDecision : public CApi {
 protected:
  rooftile_decision last() {
    rooftile_decision decision = {};
    decision.struct_size = sizeof decision;
    status_ = rooftile_last_decision(context_, &decision);
    return decision;
  }
  rooftile_decision after(rooftile_tier tier) {
    rooftile_sgemm_args args = args_of(product_);
    args.tier = tier;
    EXPECT_EQ(rooftile_sgemm(context_, &args), ROOFTILE_OK) << rooftile_last_error();
    return last();
  }
  rooftile_status status_ = ROOFTILE_OK;
};

TEST_F(LastDecision, IsOfTheLastCall) {
  last();
  EXPECT_EQ(status_, ROOFTILE_UNSUPPORTED) << "no call was made before";

  rooftile_decision decision = after(ROOFTILE_TIER_HOST1);
  EXPECT_EQ(status_, ROOFTILE_OK);
  EXPECT_EQ(decision.tier, ROOFTILE_TIER_HOST1);
  EXPECT_EQ(decision.reason, ROOFTILE_REASON_FORCED);
  EXPECT_EQ(std::string(decision.veto_name), "not_tuned");
  EXPECT_THAT(decision.veto, HasSubstr("no tuning database"));
  EXPECT_EQ(decision.measured_kernel_ns, 0);

  decision = after(ROOFTILE_TIER_AUTO);
  EXPECT_EQ(decision.tier, ROOFTILE_TIER_HOST);
  EXPECT_EQ(decision.reason, ROOFTILE_REASON_PREDICTED);
  decision = after(ROOFTILE_TIER_HOST64);
  EXPECT_EQ(decision.tier, ROOFTILE_TIER_HOST64);

  Product none(padded_problem(0, 6, 3, Transpose::kNo, Transpose::kNo));
  const rooftile_sgemm_args args = args_of(none);
  ASSERT_EQ(rooftile_sgemm(context_, &args), ROOFTILE_OK);
  EXPECT_EQ(last().reason, ROOFTILE_REASON_NOTHING_TO_DO);
}

TEST_F(LastDecision, AFailedCallHasNone) {
  open_without_device();
  after(ROOFTILE_TIER_AUTO);
  rooftile_sgemm_args args = args_of(product_);
  args.lda = 1;
  EXPECT_EQ(rooftile_sgemm(context_, &args), ROOFTILE_INVALID_ARGUMENT);
  last();
  EXPECT_EQ(status_, ROOFTILE_UNSUPPORTED);
  after(ROOFTILE_TIER_AUTO);
  args = args_of(product_);
  args.tier = ROOFTILE_TIER_DEVICE;
  EXPECT_EQ(rooftile_sgemm(context_, &args), ROOFTILE_UNSUPPORTED);
  last();
  EXPECT_EQ(status_, ROOFTILE_UNSUPPORTED);
}

TEST_F(LastDecision, BelongsToItsThreadAndContext) {
  after(ROOFTILE_TIER_AUTO);
  std::thread([&] {
    last();
    EXPECT_EQ(status_, ROOFTILE_UNSUPPORTED);
  }).join();
  last();
  EXPECT_EQ(status_, ROOFTILE_OK);
  const std::string database = (folder_ / "none.db").string();
  Session other({.database_path = database.c_str()});
  EXPECT_THROW(other.last_decision(), StatusError);
  rooftile_gemm_args args = gemm_args_of(product_);
  other.gemm(args);
  EXPECT_EQ(other.last_decision().reason, ROOFTILE_REASON_PREDICTED);
}

TEST_F(LastDecision, RefusesResultsThatItCannotFill) {
  after(ROOFTILE_TIER_AUTO);
  rooftile_decision decision = {};
  decision.struct_size = 8;
  EXPECT_EQ(rooftile_last_decision(context_, &decision), ROOFTILE_INVALID_ARGUMENT);
  EXPECT_EQ(rooftile_last_decision(context_, nullptr), ROOFTILE_INVALID_ARGUMENT);
  EXPECT_EQ(rooftile_last_decision(nullptr, &decision), ROOFTILE_INVALID_ARGUMENT);
}

TEST(DecisionLog, HasALineForEachNewProblem) {
  const ScratchFolder folder;
  write_test_database(folder / "tuned.db", first_device(), {fallback_variant()});
  const auto said = [&](const char* level) {
    const ScopedEnvironment log("ROOFTILE_LOG", level);
    Context context({.database = folder / "tuned.db"});
    testing::internal::CaptureStderr();
    const auto multiply = [&](std::int64_t m, const Epilogue& epilogue) {
      Problem p = packed_problem(m, 9, 10);
      p.epilogue = epilogue;
      Product product(p);
      context.gemm(call_of(product));
    };
    for (int call = 0; call < 3; ++call) multiply(8, {});
    std::thread([&] { multiply(8, {}); }).join();  // This thread has no repeated call to reuse.
    multiply(7, {});
    multiply(7, parse_epilogue("bias_column"));
    Product integers(
        packed_problem(7, 9, 10, Transpose::kNo, Transpose::kNo, 1, parse_types("i8_i32")));
    context.gemm(call_of(integers));
    return testing::internal::GetCapturedStderr();
  };
  EXPECT_EQ(said("off"), "");
  EXPECT_EQ(said("anything"), "");
  const std::string lines = said("decisions");
  EXPECT_EQ(std::ranges::count(lines, '\n'), 4) << lines;
  EXPECT_THAT(lines.substr(0, lines.find('\n')),
              MatchesRegex("rooftile: 8x9x10 nn f32: host1?, score [0-9.e-]+, device .* us, "
                           "host .*, host1 .*; kernel .*"));
  EXPECT_THAT(lines, HasSubstr("7x9x10 nn bias_column f32: host"));
  EXPECT_THAT(lines, HasSubstr(", with a pass of the host over c of "));
  EXPECT_THAT(lines, HasSubstr("; veto no_kernel: no kernel for i8_i32.nn is tuned on"));
}

// Two tiers that take about as long may change places again and again, with other times each time.
TEST(DecisionLog, SaysOnceThatAProblemMovesToATier) {
  testing::internal::CaptureStderr();
  DecisionLog log;
  for (const double ns : {100.0, 101.0, 102.0}) {
    log.say_changed(packed_problem(7, 9, 10),
                    TierTimes({.host_ns = ns, .host1_ns = 3 * ns}, Tier::kHost));
    log.say_changed(packed_problem(7, 9, 10),
                    TierTimes({.host_ns = 3 * ns, .host1_ns = ns}, Tier::kHost1));
  }
  const std::string lines = testing::internal::GetCapturedStderr();
  EXPECT_EQ(std::ranges::count(lines, '\n'), 2) << lines;
  EXPECT_THAT(lines, HasSubstr("7x9x10 nn f32: host1 from now on"));
}

TEST(DecisionLog, HasALineForEachAnswerThatIsNotPredicted) {
  const ScratchFolder folder;
  write_test_database(folder / "tuned.db", first_device(), {fallback_variant()});
  const ScopedEnvironment log("ROOFTILE_LOG", "decisions");
  const auto said = [&](TierChoice of_context, TierChoice of_call, const Guard& guard) {
    Context context({.database = folder / "tuned.db", .tier = of_context});
    testing::internal::CaptureStderr();
    for (int call = 0; call < 3; ++call) {
      Product product(packed_problem(8, 9, 10));
      GemmCall asked = call_of(product, of_call);
      asked.guard = guard;
      context.gemm(asked);
    }
    return testing::internal::GetCapturedStderr();
  };
  for (const auto& [tier, name] :
       std::vector<std::pair<TierChoice, std::string>>{{TierChoice::kHost, "host"},
                                                       {TierChoice::kHost1, "host1"},
                                                       {TierChoice::kHost64, "host64"}}) {
    const std::string line = "rooftile: 8x9x10 nn f32: " + name + ", forced\n";
    EXPECT_EQ(said(tier, TierChoice::kAuto, {}), line);
    EXPECT_EQ(said(TierChoice::kAuto, tier, {}), line);
  }
  EXPECT_EQ(
      said(TierChoice::kDevice, TierChoice::kAuto, {}),
      "rooftile: 8x9x10 nn f32: device, forced; kernel " + short_name(fallback_variant()) + "\n");
  EXPECT_THAT(said(TierChoice::kAuto, TierChoice::kAuto, {.precision = Precision::kExact64}),
              MatchesRegex("rooftile: 8x9x10 nn f32_sum_f64: host64, host .*; veto no_kernel: .*\n"
                           "rooftile: 8x9x10 nn f32_sum_f64: host64, for its precision\n"));
  EXPECT_THAT(said(TierChoice::kAuto, TierChoice::kAuto, {.check_spots = true}),
              MatchesRegex("rooftile: 8x9x10 nn f32, guarded: host1?, score .*; kernel .*\n"));
}

}  // namespace
}  // namespace rooftile
