// Calls through the C ABI whose precision is half, on device buffers, in lists and on host memory:
// they take the kernels that are tuned with the permission to round operands where these are
// faster, and no others do.
#include "tests/support/resident_fixture.h"

namespace rooftile {
namespace {

class ResidentHalfTest : public ResidentTest {
 protected:
  /// A context on kernels for float32 that take 0.1 ms, and on one for f32_half.
  void open_half(double ns, rooftile_precision precision, const Variant& half) {
    rooftile_close(context_);
    const std::filesystem::path database = folder_ / fmt::format("{}.db", ++databases_);
    write_test_database(database, device_, {usual_}, {}, {}, slow_host());
    write_test_database(database, device_, {half}, {}, parse_types("f32_half"), slow_host(), ns);
    context_ = opened(database, {.deterministic = 1, .precision = precision});
  }
  void open_half(double ns = 1e4, rooftile_precision precision = ROOFTILE_PRECISION_DEFAULT) {
    open_half(ns, precision, half_);
  }
  std::string kernel(const rooftile_guard& guard) {
    Product product(problem_);
    const ProblemArgs problem(product);
    rooftile_gemm_args args = problem.args;
    args.guard = &guard;
    const rooftile_resident_operands operands = operands_of(product, 4);
    rooftile_prepared result = {.struct_size = sizeof result};
    ok(rooftile_resident_prepare(context_, &args, &operands, &result));
    expect_right(product, operands, args);
    release_buffers();
    return result.kernel;
  }
  static rooftile_guard guard(rooftile_precision precision, double kappa = 0) {
    return {.struct_size = sizeof(rooftile_guard), .precision = precision, .kappa = kappa};
  }
  /// Makes the call on host memory, and returns its decision.
  rooftile_decision decision(const rooftile_guard& guard, rooftile_tier tier) {
    Product product(problem_);
    HostCall call(product);
    call.args.guard = &guard;
    call.args.tier = tier;
    rooftile_decision before = {.struct_size = sizeof before}, after = before;
    EXPECT_EQ(rooftile_explain_gemm(context_, &call.args, &before), ROOFTILE_OK);
    ok(rooftile_gemm(context_, &call.args));
    product.expect_right();
    ok(rooftile_last_decision(context_, &after));
    EXPECT_EQ(before.may_round_operands, after.may_round_operands);
    return after;
  }

  const Variant usual_ = parse_variant(
      "family=register tile_m=8 tile_n=16 reg_m=4 reg_n=4 unroll_k=4 vector_width_a=1 "
      "vector_width_b=1");
  const Variant half_ = parse_variant("family=naive tile_m=4 tile_n=8 reg_m=1 reg_n=1");
  const std::string usual_name_ = short_name(usual_), half_name_ = short_name(half_);
  const Problem problem_ = padded_problem(33, 17, 65, Transpose::kNo, Transpose::kYes, 1, 0.5f);
};

TEST_F(ResidentHalfTest, OnlyCallsThatAskForItTakeKernelsThatMayRound) {
  open_half();
  EXPECT_EQ(kernel(guard(ROOFTILE_PRECISION_HALF)), half_name_);
  for (const rooftile_precision precision :
       {ROOFTILE_PRECISION_DEFAULT, ROOFTILE_PRECISION_RELAXED, ROOFTILE_PRECISION_STANDARD})
    EXPECT_EQ(kernel(guard(precision)), usual_name_) << precision;
  EXPECT_EQ(kernel(guard(ROOFTILE_PRECISION_HALF, 10)), usual_name_) << "kappa";
  open_half(1e4, ROOFTILE_PRECISION_HALF);
  EXPECT_EQ(kernel(guard(ROOFTILE_PRECISION_DEFAULT)), half_name_);
  EXPECT_EQ(kernel(guard(ROOFTILE_PRECISION_STANDARD)), usual_name_);
}

TEST_F(ResidentHalfTest, KernelsThatAreSlowerOrNotLegalAreNotTaken) {
  const rooftile_guard half = guard(ROOFTILE_PRECISION_HALF);
  open_half(1e6);
  EXPECT_EQ(kernel(half), usual_name_);
  EXPECT_EQ(decision(half, ROOFTILE_TIER_DEVICE).may_round_operands, 0);
  Variant exact = usual_;
  exact.edge = Edge::kExact;
  open_half(1e4, ROOFTILE_PRECISION_DEFAULT, exact);
  EXPECT_EQ(kernel(half), usual_name_);
  EXPECT_EQ(decision(half, ROOFTILE_TIER_DEVICE).may_round_operands, 0);
}

TEST_F(ResidentHalfTest, APackedOperandIsNotRounded) {
  open_half(1e4, ROOFTILE_PRECISION_HALF);
  Product product(problem_);
  const ProblemArgs problem(product);
  rooftile_resident_operands operands = operands_of(product, 4);
  rooftile_packed* packed = nullptr;
  const rooftile_pack_args pack = {
      .struct_size = sizeof pack, .operand = ROOFTILE_OPERAND_B, .call = &problem.args};
  ok(rooftile_resident_pack(context_, &pack, &operands, &packed));
  rooftile_gemm_args args = problem.args;
  args.packed = packed;
  rooftile_prepared result = {.struct_size = sizeof result};
  ok(rooftile_resident_prepare(context_, &args, &operands, &result));
  EXPECT_EQ(result.kernel, usual_name_);
  expect_right(product, operands, args);
  rooftile_packed_release(packed);
}

TEST_F(ResidentHalfTest, DecisionsSayWhereKernelsMayRound) {
  open_half();
  for (const rooftile_tier tier : {ROOFTILE_TIER_AUTO, ROOFTILE_TIER_DEVICE}) {
    const rooftile_decision half = decision(guard(ROOFTILE_PRECISION_HALF), tier),
                            usual = decision(guard(ROOFTILE_PRECISION_STANDARD), tier);
    EXPECT_EQ(half.tier, ROOFTILE_TIER_DEVICE);
    EXPECT_EQ(half.may_round_operands, 1);
    EXPECT_EQ(half.kernel, half_name_);
    EXPECT_EQ(usual.may_round_operands, 0);
    EXPECT_EQ(usual.kernel, usual_name_);
  }
  EXPECT_EQ(decision(guard(ROOFTILE_PRECISION_HALF), ROOFTILE_TIER_HOST).may_round_operands, 0);
}

}  // namespace
}  // namespace rooftile
