// Repeated calls have the same results, checks and decisions as the first call.
#include <algorithm>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "runtime/dispatch/repeated_calls.h"
#include "tests/support/c_api_fixture.h"

namespace rooftile {
namespace {

using ::testing::HasSubstr;

constexpr std::uint64_t kOwner = 7;

PlainProduct plain(const Problem& p) { return plain_product(p).value(); }

TEST(RepeatedCalls, MatchOnlyWhenEveryFieldIsEqual) {
  const auto calls = std::make_unique<RepeatedCalls>();
  const PlainProduct known =
      plain(padded_problem(5, 7, 3, Transpose::kNo, Transpose::kYes, 1.5f, 0.5f));
  calls->store(known, kOwner, {.tier = Tier::kHost1});
  ASSERT_NE(calls->find(known, kOwner), nullptr);
  EXPECT_EQ(calls->find(known, kOwner)->route().tier, Tier::kHost1);
  EXPECT_EQ(calls->find(known, kOwner + 1), nullptr);
  const std::vector<std::function<void(PlainProduct&)>> changes = {
      [](PlainProduct& p) { ++p.m; },
      [](PlainProduct& p) { ++p.n; },
      [](PlainProduct& p) { ++p.k; },
      [](PlainProduct& p) { ++p.lda; },
      [](PlainProduct& p) { ++p.ldb; },
      [](PlainProduct& p) { ++p.ldc; },
      [](PlainProduct& p) { p.alpha = -p.alpha; },
      [](PlainProduct& p) { p.beta = 0; },
      [](PlainProduct& p) { p.trans_a = Transpose::kYes; },
      [](PlainProduct& p) { p.trans_b = Transpose::kNo; },
      [](PlainProduct& p) { p.float64 = true; }};
  for (std::size_t i = 0; i < changes.size(); ++i) {
    PlainProduct other = known;
    changes[i](other);
    EXPECT_EQ(calls->find(other, kOwner), nullptr) << "change " << i;
  }
}

TEST(RepeatedCalls, EvictedCallsAreForgottenAndNotConfused) {
  const auto calls = std::make_unique<RepeatedCalls>();
  constexpr std::int32_t kProducts = 1000;
  const auto product = [](std::int32_t m) {
    return PlainProduct{.m = m, .n = 4, .k = 4, .lda = 4, .ldb = 4, .ldc = 4, .alpha = 1};
  };
  int found = 0;
  for (std::int32_t m = 1; m <= kProducts; ++m) {
    calls->store(product(m), kOwner, {});
    ASSERT_NE(calls->find(product(m), kOwner), nullptr);
    if (m > 1) found += calls->find(product(m - 1), kOwner) != nullptr ? 1 : 0;
  }
  EXPECT_EQ(found, kProducts - 1) << "two calls in one slot were both found";
  for (std::int32_t m = 1; m <= kProducts; ++m) {
    const auto* const known = calls->find(product(m), kOwner);
    EXPECT_TRUE(known == nullptr || known->product().m == m);
  }
}

TEST(RepeatedCalls, AcceptOnlyPointersThatCannotOverlap) {
  const auto calls = std::make_unique<RepeatedCalls>();
  // Rows have 3, 4 and 4 elements: A spans 2 * 5 + 3, B 2 * 6 + 4, C 2 * 7 + 4.
  const PlainProduct p = {.m = 3, .n = 4, .k = 3, .lda = 5, .ldb = 6, .ldc = 7, .alpha = 1};
  calls->store(p, kOwner, {});
  const RepeatedCalls::Entry& known = *calls->find(p, kOwner);
  std::vector<float> memory(100);
  float* const c = memory.data() + 40;
  const auto takes = [&](const float* a, const float* b) {
    return known.takes({.product = p, .a = a, .b = b, .c = c});
  };
  EXPECT_TRUE(takes(c - 13, c - 16)) << "A and B end where C begins";
  EXPECT_TRUE(takes(c + 18, c + 18)) << "A and B begin where C ends";
  EXPECT_FALSE(takes(c - 12, c + 18));
  EXPECT_FALSE(takes(c + 18, c - 15));
  EXPECT_FALSE(takes(c + 17, c + 18));
  EXPECT_FALSE(takes(c + 18, c + 17));
  EXPECT_FALSE(takes(nullptr, c + 18));
  EXPECT_FALSE(takes(c + 18, nullptr));
  const auto* const odd = reinterpret_cast<const float*>(reinterpret_cast<const char*>(c) + 81);
  EXPECT_FALSE(takes(odd, c + 18));
  EXPECT_FALSE(known.takes({.product = p, .a = memory.data(), .b = memory.data()}));
}

TEST(RepeatedCalls, KnowHowLongFloat64OperandsAre) {
  const auto calls = std::make_unique<RepeatedCalls>();
  const PlainProduct p = {
      .m = 3, .n = 4, .k = 3, .lda = 5, .ldb = 6, .ldc = 7, .alpha = 1, .float64 = true};
  calls->store(p, kOwner, {});
  const RepeatedCalls::Entry& known = *calls->find(p, kOwner);
  std::vector<double> memory(100);
  double* const c = memory.data() + 40;
  const auto takes = [&](const void* a, const void* b) {
    return known.takes({.product = p, .a = a, .b = b, .c = c});
  };
  EXPECT_TRUE(takes(c - 13, c + 18));
  EXPECT_FALSE(takes(c - 12, c + 18));
  EXPECT_FALSE(takes(c + 18, c + 17));
  EXPECT_FALSE(takes(c + 18, reinterpret_cast<const float*>(c + 18) + 1)) << "half an element on";
}

class RepeatedCall : public CApi {
 protected:
  /// Makes the call twice, so that the second one is found as repeated.
  void multiply(const rooftile_sgemm_args& args) {
    for (int call = 0; call < 2; ++call)
      ASSERT_EQ(rooftile_sgemm(context_, &args), ROOFTILE_OK) << rooftile_last_error();
  }
  rooftile_decision last() {
    rooftile_decision decision = {.struct_size = sizeof decision};
    EXPECT_EQ(rooftile_last_decision(context_, &decision), ROOFTILE_OK);
    return decision;
  }
};

TEST_F(RepeatedCall, IsRightInEveryLayoutOnOtherOperands) {
  for (Transpose trans_a : {Transpose::kNo, Transpose::kYes})
    for (Transpose trans_b : {Transpose::kNo, Transpose::kYes})
      for (const bool swapped : {false, true}) {
        const Problem p = padded_problem(17, 9, 23, trans_a, trans_b, -1.5f);
        const auto args = [&](Product& product) {
          return swapped ? column_major(args_of(product)) : args_of(product);
        };
        Product first(p), second(p);
        std::ranges::reverse(second.a);
        std::ranges::replace_if(
            second.a, [](float x) { return x != x; }, 0.25f);
        multiply(args(first));
        multiply(args(second));
        first.expect_right();
        second.expect_right();
      }
}

// Both functions find each other's calls, except for calls with fields that only one of them has.
TEST_F(RepeatedCall, RooftileGemmSharesTheShortcutOnlyForPlainCalls) {
  multiply(args_of(product_));
  Product plain(product_.problem);
  rooftile_gemm_args args = gemm_args_of(plain);
  ASSERT_EQ(rooftile_gemm(context_, &args), ROOFTILE_OK) << rooftile_last_error();
  plain.expect_right();

  const auto right = [&](const Problem& p, const rooftile_epilogue* epilogue) {
    Product product(p);
    rooftile_gemm_args of = gemm_args_of(product);
    of.epilogue = epilogue;
    ASSERT_EQ(rooftile_gemm(context_, &of), ROOFTILE_OK) << rooftile_last_error();
    product.expect_right();
  };
  Problem p = product_.problem;
  p.epilogue.activation = Activation::kRelu;
  const rooftile_epilogue relu = {.struct_size = sizeof relu, .activation = ROOFTILE_RELU};
  right(p, &relu);
  p = product_.problem;
  p.types.c = DataType::kF16;
  right(p, nullptr);
  right(padded_batch(product_.problem, 2, false), nullptr);

  Product elsewhere(product_.problem);
  args = gemm_args_of(elsewhere);
  void* const c_array[] = {elsewhere.c.data()};
  args.c_array = c_array;
  args.c = plain.c.data();
  ASSERT_EQ(rooftile_gemm(context_, &args), ROOFTILE_OK) << rooftile_last_error();
  elsewhere.expect_right();
}

TEST_F(RepeatedCall, IsCheckedLikeTheFirst) {
  multiply(args_of(product_));
  Product product(product_.problem);
  const auto refused = [&](const char* message, const auto& change) {
    rooftile_sgemm_args args = args_of(product);
    change(args);
    expect_refused(product, args, message);
  };
  refused("a is null", [](auto& args) { args.a = nullptr; });
  refused("b is null", [](auto& args) { args.b = nullptr; });
  refused("c is null", [](auto& args) { args.c = nullptr; });
  refused("c overlaps a", [](auto& args) { args.a = args.c + 1; });
  refused("c overlaps b", [](auto& args) { args.b = args.c; });
  refused("not aligned", [](auto& args) {
    args.a = reinterpret_cast<const float*>(reinterpret_cast<const char*>(args.a) + 1);
  });
  refused("lda is 2", [](auto& args) { args.lda = 2; });
  refused("m is -1", [](auto& args) { args.m = -1; });
  refused("trans_b is 2", [](auto& args) { args.trans_b = static_cast<rooftile_transpose>(2); });
  refused("layout is -1", [](auto& args) { args.layout = static_cast<rooftile_layout>(-1); });
  refused("tier is 9", [](auto& args) { args.tier = static_cast<rooftile_tier>(9); });
  refused("struct_size is 8", [](auto& args) { args.struct_size = 8; });
  rooftile_decision decision = {.struct_size = sizeof decision};
  EXPECT_EQ(rooftile_last_decision(context_, &decision), ROOFTILE_UNSUPPORTED)
      << "the decision of an earlier call was returned";
  multiply(args_of(product));
  product.expect_right();
}

/// C := A * B + 0.5 * C of 2 x 2 matrices of doubles.
struct Doubles {
  std::vector<double> a{1, 2, 3, 4}, b{0x1p-30, 1, 1, 0}, c{2, 2, 2, 2};
  rooftile_gemm_args args = {.struct_size = sizeof args,
                             .type = ROOFTILE_F64,
                             .type_c = ROOFTILE_F64,
                             .m = 2,
                             .n = 2,
                             .k = 2,
                             .batch = 1,
                             .a = a.data(),
                             .b = b.data(),
                             .c = c.data(),
                             .lda = 2,
                             .ldb = 2,
                             .ldc = 2,
                             .alpha_f64 = 1,
                             .beta_f64 = 0.5};
};

TEST_F(RepeatedCall, OfFloat64IsFoundAndHasItsPrecision) {
  for (int call = 0; call < 3; ++call) {
    Doubles x;
    ASSERT_EQ(rooftile_gemm(context_, &x.args), ROOFTILE_OK) << rooftile_last_error();
    EXPECT_EQ(x.c, std::vector<double>({3 + 0x1p-30, 2, 5 + 3 * 0x1p-30, 4}));
    EXPECT_EQ(last().tier, ROOFTILE_TIER_HOST);
    EXPECT_EQ(last().reason, ROOFTILE_REASON_PREDICTED);
  }
}

TEST_F(RepeatedCall, WithScalarsOfTheOtherTypeIsRefused) {
  Doubles doubles;
  Product floats(product_.problem);
  rooftile_gemm_args of_floats = gemm_args_of(floats);
  for (rooftile_gemm_args* args : {&doubles.args, &of_floats}) {
    ASSERT_EQ(rooftile_gemm(context_, args), ROOFTILE_OK) << rooftile_last_error();
    ASSERT_EQ(rooftile_gemm(context_, args), ROOFTILE_OK) << rooftile_last_error();
  }
  doubles.args.beta = 1;
  EXPECT_EQ(rooftile_gemm(context_, &doubles.args), ROOFTILE_INVALID_ARGUMENT);
  EXPECT_THAT(rooftile_last_error(), HasSubstr("beta is for other types than F64"));
  of_floats.alpha_f64 = 1;
  EXPECT_EQ(rooftile_gemm(context_, &of_floats), ROOFTILE_INVALID_ARGUMENT);
  EXPECT_THAT(rooftile_last_error(), HasSubstr("alpha_f64 is for operands of type F64"));
}

TEST_F(RepeatedCall, SizesBeyond32BitsTakeTheFullPath) {
  multiply(args_of(product_));
  Product product(product_.problem);
  rooftile_sgemm_args args = args_of(product);
  args.n += std::int64_t{1} << 32;
  expect_refused(product, args, "ldb is 12");
}

TEST_F(RepeatedCall, FillsTheLastDecision) {
  Product product(padded_problem(6, 8, 4, Transpose::kYes, Transpose::kNo));
  multiply(args_of(product));
  EXPECT_EQ(last().tier, ROOFTILE_TIER_HOST);
  EXPECT_EQ(last().reason, ROOFTILE_REASON_PREDICTED);
  EXPECT_THAT(last().veto, HasSubstr("no tuning database"));
}

TEST_F(RepeatedCall, WithATierOrAGuardIsADifferentCall) {
  multiply(args_of(product_));
  rooftile_sgemm_args args = args_of(product_);
  args.tier = ROOFTILE_TIER_HOST64;
  multiply(args);
  EXPECT_EQ(last().tier, ROOFTILE_TIER_HOST64);
  args = args_of(product_);
  rooftile_guard guard = {.struct_size = sizeof guard, .precision = ROOFTILE_PRECISION_EXACT64};
  args.guard = &guard;
  multiply(args);
  EXPECT_EQ(last().reason, ROOFTILE_REASON_PRECISION);
  multiply(args_of(product_));
  EXPECT_EQ(last().tier, ROOFTILE_TIER_HOST);
  EXPECT_EQ(last().reason, ROOFTILE_REASON_PREDICTED);
}

TEST_F(RepeatedCall, KeepsThePrecisionsOfCallsApart) {
  reopen({.precision = ROOFTILE_PRECISION_EXACT64});
  rooftile_sgemm_args args = args_of(product_);
  rooftile_guard guard = {.struct_size = sizeof guard, .precision = ROOFTILE_PRECISION_STANDARD};
  args.guard = &guard;
  multiply(args);
  EXPECT_EQ(last().tier, ROOFTILE_TIER_HOST);
  args.guard = nullptr;
  multiply(args);
  EXPECT_EQ(last().tier, ROOFTILE_TIER_HOST64);
}

TEST_F(RepeatedCall, OfAForcedContextStaysForced) {
  rooftile_context* forced = opened(folder_ / "none.db", {.tier = ROOFTILE_TIER_HOST1});
  std::swap(context_, forced);
  Product product(product_.problem);
  multiply(args_of(product));
  product.expect_right();
  EXPECT_EQ(last().tier, ROOFTILE_TIER_HOST1);
  EXPECT_EQ(last().reason, ROOFTILE_REASON_FORCED);
  std::swap(context_, forced);
  rooftile_close(forced);
  multiply(args_of(product));
  EXPECT_EQ(last().tier, ROOFTILE_TIER_HOST) << "the decision of the other context was used";
}

}  // namespace
}  // namespace rooftile
