// Calls whose precision permits operands to be rounded: they take the kernels that are tuned so
// where these are faster (resident_half_test.cpp has those on device buffers).
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "generator/space.h"
#include "guarded_context_fixture.h"
#include "runtime/call/grouped_call.h"
#include "runtime/resident/packing.h"

namespace rooftile {
namespace {

class RoundedContext : public GuardedContext {
 protected:
  /// Plants a kernel for these types that takes so much of the time of the one without rounding.
  void plant(const char* types, double share, const Variant& v = fallback_variant()) {
    write_test_database(folder_ / "tuned.db", device_, {v}, {}, parse_types(types), calibration_,
                        share * kKernelNs);
  }
  /// The types of the kernel that a call with this precision takes, within whose bound C is.
  std::string types_for(const char* types, const Guard& guard) {
    Context context(options());
    Product product(
        padded_problem(5, 17, 96, Transpose::kNo, Transpose::kYes, 1, 0.5f, parse_types(types)));
    const Answer answer = run(context, product, guard);
    EXPECT_EQ(answer.tier, Tier::kDevice);
    EXPECT_EQ(context.explain_answer(answer).may_round_operands,
              answer.problem.types.rounding != Rounding::kNone);
    product.problem.types = answer.problem.types;
    product.expect_right();
    return to_string(answer.problem.types);
  }
  const Variant int8_kernel_ = parse_variant(
      "family=vector tile_m=1 tile_n=4 tile_k=64 reg_m=1 reg_n=2 unroll_k=32 vector_width_a=4 "
      "vector_width_b=1 load_path_a=buffer load_path_b=buffer stage=stored");
};

// Steps of 1/127 of the largest number of a row, whatever that is: by a power of two smaller or
// larger rows have C's bits but for the exponent.
TEST_F(RoundedContext, RowsOfAnySizeAreRoundedToAsManySteps) {
  plant("f32xq8b32_int8", 0.7, int8_kernel_);
  Context context(options());
  const auto c_of = [&](float factor, Precision precision) {
    Product product(
        packed_problem(5, 17, 96, Transpose::kNo, Transpose::kYes, 1, parse_types("f32xq8b32")));
    auto* const a = reinterpret_cast<float*>(product.stored_a_elements.data());
    for (std::int64_t i = 0; i < 5 * 96; ++i)  // none becomes denormal, and no product
      a[i] = factor * std::copysign(0.5f + std::abs(a[i]) / 2, a[i]);
    auto* const scales = reinterpret_cast<float*>(product.quantization.scales.data());
    for (std::size_t i = 0; i < product.quantization.scales.size() / sizeof(float); ++i)
      scales[i] = std::copysign(0x1p20f, scales[i]);
    const Answer answer = run(context, product, {.precision = precision});
    EXPECT_EQ(answer.problem.types.rounding == Rounding::kInt8, precision == Precision::kInt8);
    product.c.resize(5 * 17);  // without what lies behind C
    for (float& c : product.c) c /= factor;
    return product.c;
  };
  const std::vector<float> rounded = c_of(1, Precision::kInt8);
  for (const float factor : {0x1p-120f, 0x1p-70f, 0x1p-40f, 0x1p90f}) {
    const std::vector<float> c = c_of(factor, Precision::kInt8);
    for (std::size_t i = 0; i < c.size(); ++i) ASSERT_EQ(c[i], rounded[i]) << i << " " << factor;
  }
  const std::vector<float> exact = c_of(1, Precision::kStandard);
  double largest = 0;
  for (std::size_t i = 0; i < exact.size(); ++i)
    largest = std::max<double>(largest, std::abs(exact[i] - rounded[i]));
  EXPECT_GT(largest, 1e-4 * 0x1p20) << "nothing was rounded";
}

// A permission includes those that round less: of these the fastest is taken.
TEST_F(RoundedContext, CallsAreRoundedAsFarAsTheyPermitAndAsIsFastest) {
  const Guard half = {.precision = Precision::kHalf}, int8 = {.precision = Precision::kInt8};
  plant("f32xq8_0", 1);
  EXPECT_EQ(types_for("f32xq8_0", int8), "f32xq8_0");
  plant("f32xq8_0_half", 0.8);
  EXPECT_EQ(types_for("f32xq8_0", int8), "f32xq8_0_half");
  plant("f32xq8_0_int8", 0.7, int8_kernel_);
  EXPECT_EQ(types_for("f32xq8_0", int8), "f32xq8_0_int8");
  EXPECT_EQ(types_for("f32xq8_0", half), "f32xq8_0_half");
  for (const Guard& guard : {Guard{}, Guard{.precision = Precision::kRelaxed},
                             Guard{.precision = Precision::kInt8, .kappa = 5}})
    EXPECT_EQ(types_for("f32xq8_0", guard), "f32xq8_0");
  EXPECT_EQ(types_for("f32xq8_0", {.precision = Precision::kInt8, .check_spots = true}),
            "f32xq8_0_int8");
  plant("f32_half", 0.9);
  EXPECT_EQ(types_for("f32", int8), "f32_half") << "B is not quantised";
}

TEST_F(RoundedContext, HalfUsesKernelsThatAreTunedForIt) {
  tune(parse_types("f32_half"));
  Context context(options());
  const Guard half = {.precision = Precision::kHalf};
  for (const Guard& guard :
       {half, Guard{.precision = Precision::kHalf, .scan_range = true, .check_spots = true}}) {
    Product product(problem_);
    const Answer answer = run(context, product, guard);
    EXPECT_EQ(answer.tier, Tier::kDevice);
    EXPECT_EQ(to_string(answer.problem.types), "f32_half");
    EXPECT_TRUE(context.explain_answer(answer).may_round_operands);
    product.expect_right();
  }
  for (const Guard& guard :
       {Guard{.precision = Precision::kStandard}, Guard{.precision = Precision::kRelaxed},
        Guard{.precision = Precision::kHigh}, Guard{}}) {
    Product product(problem_);
    const Answer answer = run(context, product, guard);
    EXPECT_EQ(answer.problem.types, Types{});
    EXPECT_FALSE(context.explain_answer(answer).may_round_operands);
  }
  Product product(problem_);
  EXPECT_EQ(run(context, product, {.precision = Precision::kHalf, .kappa = 1000}).tier,
            Tier::kHost64);
  expect_float64(product);
}

TEST_F(RoundedContext, HalfUsesItsPlainKernelBeforeAPassUnlessTheEpilogueIsTunedWithoutIt) {
  tune(parse_types("f32_half"));
  const Epilogue relu = parse_epilogue("relu");
  ContextOptions half = options();
  half.precision = Precision::kHalf;
  Problem p = problem_;
  p.epilogue = relu;
  const auto explained = [&] {
    const Explanation e = Context(half).explain({.problem = p});
    return fmt::format("{} {} {}", e.may_round_operands, e.means, e.product);
  };
  EXPECT_EQ(explained(), "true host_pass f32_half");
  write_test_database(folder_ / "tuned.db", device_, {fast_kernel(device_)}, relu, {}, calibration_,
                      0.5 * kKernelNs);
  EXPECT_EQ(explained(), "false tuned ");
}

TEST_F(RoundedContext, HalfIsStandardWhereNothingIsTunedForIt) {
  ContextOptions half = options();
  half.precision = Precision::kHalf;
  Context context(half);
  for (int call = 0; call < 2; ++call) {
    Product product(problem_);
    const Answer answer = run(context, product, {});
    EXPECT_EQ(answer.tier, Tier::kDevice);
    EXPECT_EQ(answer.problem.types, Types{});
    EXPECT_FALSE(context.explain({.problem = problem_}).may_round_operands);
    product.expect_right();
  }
}

TEST_F(RoundedContext, HalfIsWhatTheHostComputesAnyway) {
  tune(parse_types("f32_half"));
  ContextOptions half = options();
  half.precision = Precision::kHalf;
  for (const TierChoice tier : {TierChoice::kHost, TierChoice::kHost1, TierChoice::kHost64}) {
    half.tier = tier;
    Context context(half);
    Product asked(problem_), standard(problem_);
    for (int call = 0; call < 2; ++call) {
      asked.c = asked.c_before;
      EXPECT_EQ(run(context, asked, {}).tier, tier_of(tier));
    }
    run(context, standard, {.precision = Precision::kStandard});
    EXPECT_EQ(std::memcmp(asked.c.data(), standard.c.data(), standard.c.size() * sizeof(float)), 0);
  }
}

TEST_F(RoundedContext, GroupsAreRoundedWhereTheyAreTunedSo) {
  Problem p = grouped_problem(40, 24, 64, {.experts = 2, .groups = 2, .largest = 24});
  const std::vector<Group> groups = {{0, 16}, {1, 24}};
  {
    Store store(folder_ / "tuned.db");
    const RowId row = store.device_id(device_);
    for (const char* types : {"f32", "f32_half"}) {
      p.types = parse_types(types);
      plant_winners(
          store, row, p,
          {{fallback_variant(), types == std::string("f32") ? kKernelNs : 0.9 * kKernelNs}});
    }
  }
  p.types = {};
  Context context(options());
  const auto types_for = [&](const Guard& guard) {
    Product rows(packed_problem(40, 2 * 24, 64));
    GroupedCall call = {{.problem = p}, groups};
    call.call.a = rows.a.data(), call.call.b = rows.b.data(), call.call.c = rows.c.data();
    call.call.tier = TierChoice::kDevice;
    call.call.guard = guard;
    context.grouped(call);
    return to_string(context.last_answer()->problem.types);
  };
  EXPECT_EQ(types_for({.precision = Precision::kHalf}), "f32_half");
  EXPECT_EQ(types_for({}), "f32");
  EXPECT_EQ(types_for({.precision = Precision::kHalf, .kappa = 5}), "f32");
}

TEST_F(RoundedContext, APackedOperandIsMultipliedWithoutRounding) {
  tune({});
  write_test_database(folder_ / "tuned.db", device_, {fast_kernel(device_)}, {},
                      parse_types("f32_half"), calibration_, 0.9 * kKernelNs);
  ContextOptions half = options();
  half.precision = Precision::kHalf;
  Context context(half);
  Product product(problem_);
  const auto packed = context.pack({.call = call_of(product), .operand = Operand::kB});
  GemmCall call = call_of(product);
  call.packed = packed;
  context.gemm(call);
  EXPECT_EQ(context.last_answer()->problem.types, Types{});
  product.expect_right();
  product.c = product.c_before;
  EXPECT_EQ(to_string(run(context, product, {}).problem.types), "f32_half");
}

}  // namespace
}  // namespace rooftile
