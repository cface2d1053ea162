// Calls of a class (types, transposes, epilogue) that is not tuned, on a device whose plain class
// is tuned. A plain kernel followed by a pass of the host over C answers them, or a kernel that is
// certified on demand.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/error.h"
#include "generator/space.h"
#include "runtime/device/device.h"
#include "runtime/dispatch/context.h"
#include "tests/support/call_of.h"
#include "tests/support/fast_kernel.h"
#include "tests/support/first_device.h"
#include "tests/support/product.h"
#include "tests/support/scratch.h"
#include "tests/support/synthetic_database.h"

namespace rooftile {
namespace {

using ::testing::HasSubstr;

/// Only plain float32 GEMMs are tuned. The context is deterministic, so that no kernel is
/// certified on demand: every call takes the plain kernel and the pass of the host.
class HostPassTest : public ::testing::Test {
 protected:
  ContextOptions options(const Types& tuned = {}, const Calibration& calibration = fast_host()) {
    write_test_database(folder_ / "tuned.db", device_, {fast_kernel(device_), fallback_variant()},
                        {}, tuned, calibration);
    return {.database = folder_ / "tuned.db",
            .cache_folder = folder_ / "cache",
            .deterministic = Deterministic::kYes};
  }
  static Problem problem(const char* epilogue, const char* types = "f32", float beta = 0.5f) {
    const Types t = parse_types(types);
    return with_epilogue(padded_problem(33, 17, 65, Transpose::kNo, Transpose::kYes, 2.0f, beta, t),
                         parse_epilogue(epilogue));
  }
  static void expect_right_on_device(Context& context, const Problem& p) {
    Product product(p);
    context.gemm(call_of(product, TierChoice::kDevice));
    product.expect_right();
    EXPECT_EQ(context.last_answer()->tier, Tier::kDevice) << to_string(p);
    EXPECT_NE(context.last_answer()->kernel, nullptr) << to_string(p);
  }

  /// Float64 sums differ in their order only, which rounding to C hides from operands like these.
  static void expect_as_on_the_host(Context& context, const Problem& p) {
    Product on_device(p), on_host(p);
    context.gemm(call_of(on_device, TierChoice::kDevice));
    context.gemm(call_of(on_host, TierChoice::kHost64));
    EXPECT_TRUE(std::ranges::equal(std::as_bytes(std::span(on_device.c)),
                                   std::as_bytes(std::span(on_host.c))))
        << to_string(p);
    EXPECT_EQ(on_device.stored_c_elements, on_host.stored_c_elements) << to_string(p);
  }

  ScratchFolder folder_;
  DeviceProfile device_ = first_device();
};

constexpr const char* kEpilogues[] = {
    "relu",      "gelu_erf",         "gelu_tanh",
    "silu",      "bias_row",         "bias_column",
    "row_scale", "column_scale",     "residual",
    "clamp",     "bias_column+relu", "row_scale+column_scale+bias_column+gelu_tanh+residual+clamp"};

TEST_F(HostPassTest, EveryEpilogueIsRight) {
  Context context(options());
  for (const char* epilogue : kEpilogues)
    for (const float beta : {0.0f, 0.5f})
      expect_right_on_device(context, problem(epilogue, "f32", beta));
}

TEST_F(HostPassTest, HalfPrecisionOperandsAreWidened) {
  Context context(options());
  for (const char* types :
       {"f16", "bf16", "f32_f16", "f16_f16", "bf16_bf16", "f32xq4b32", "f32xq6_k"})
    for (const char* epilogue : {"", "bias_column+relu"})
      for (const float beta : {0.0f, 0.5f})
        expect_right_on_device(context, problem(epilogue, types, beta));
}

TEST_F(HostPassTest, AKernelOfTheSameOperandsIsPreferred) {
  Context context(options(parse_types("f16")));
  for (const char* epilogue : {"relu", "bias_row+silu"})
    expect_right_on_device(context, problem(epilogue, "f16"));
  expect_right_on_device(context, problem("relu", "f16_f16"));
}

TEST_F(HostPassTest, Float64StaysFloat64) {
  if (!device_.limits.float64_arithmetic) GTEST_SKIP() << "no float64 arithmetic";
  Context context(options(parse_types("f64")));
  for (const char* epilogue :
       {"row_scale+column_scale+bias_column+gelu_erf+residual+clamp", "bias_row+silu"})
    for (const float beta : {0.0f, 0.5f}) {
      expect_right_on_device(context, problem(epilogue, "f64", beta));
      expect_right_on_device(context, padded_batch(problem(epilogue, "f64", beta), 3, true));
    }
}

TEST_F(HostPassTest, OtherOperandsHaveFloat64Sums) {
  if (!device_.limits.float64_arithmetic) GTEST_SKIP() << "no float64 arithmetic";
  Context context(options(parse_types("f64")));
  for (const char* types : {"f32", "f16", "bf16_bf16", "f32_f16", "f16_f16", "i8", "u8_bf16",
                            "f32xq4b32zf", "f16xq8b32z_f16", "f32xq6_k"})
    for (const char* epilogue :
         {"", "row_scale+column_scale+bias_column+gelu_erf+residual+clamp", "bias_row+silu"})
      for (const float beta : {0.0f, 0.5f}) {
        Problem p = problem(epilogue, types, beta);
        p.types.sums = Sums::kF64;
        expect_right_on_device(context, p);
        expect_as_on_the_host(context, p);
        if (!quantized(p.types)) expect_right_on_device(context, padded_batch(p, 3, beta == 0));
      }
}

TEST_F(HostPassTest, Float64SumsOfIntegersAreThoseInInt32) {
  Context context(options(parse_types("i8_i32")));
  for (const char* types : {"i8", "i8_f16"})
    for (const char* epilogue : {"", "row_scale+column_scale+bias_column+silu"}) {
      Problem p = with_epilogue(
          packed_problem(33, 17, 65'000, Transpose::kNo, Transpose::kYes, 1, parse_types(types)),
          parse_epilogue(epilogue));
      p.types.sums = Sums::kF64;
      p.alpha = 0.001f;  // Some sums have more bits than float32, and C is finite in float16.
      EXPECT_EQ(context.explain({.problem = p}).decision.pass_over, "c");
      expect_right_on_device(context, p);
      expect_as_on_the_host(context, p);
    }
}

TEST_F(HostPassTest, IntegerSumsAreScaledByTheHost) {
  Context context(options(parse_types("i8_i32")));
  for (const char* types : {"i8", "i8_f16"})
    for (const char* epilogue : {"", "row_scale+column_scale+bias_column+relu"})
      expect_right_on_device(context, problem(epilogue, types));
}

TEST_F(HostPassTest, BatchesAreOneProductOnTheDevice) {
  Context context(options());
  for (const char* types : {"f32", "f16", "f16_f16"})
    for (const bool shared_b : {false, true})
      expect_right_on_device(
          context, padded_batch(problem("bias_column+relu+residual", types), 3, shared_b));
}

TEST_F(HostPassTest, TheResidualMayBeC) {
  for (const char* types : {"f32", "f64"}) {
    if (!computes(device_, parse_types(types))) continue;
    Context context(options(parse_types(types)));
    for (const float beta : {0.0f, 0.5f}) {
      const Problem p = problem("relu+residual", types, beta);
      Product product(p);
      GemmCall call = call_of(product, TierChoice::kDevice);
      call.epilogue.residual = product.c_data();
      call.epilogue.ld_residual = p.ldc;
      product.copy_c_to_residual();
      context.gemm(call);
      product.expect_right();
    }
  }
}

TEST_F(HostPassTest, AlphaZeroReadsNeitherAnorB) {
  Context context(options());
  for (const char* types : {"f32", "f16"}) {
    Problem p = problem("bias_column+relu", types);
    p.alpha = 0;
    Product product(p);
    GemmCall call = call_of(product, TierChoice::kDevice);
    call.a = call.b = nullptr;
    context.gemm(call);
    product.expect_right();
  }
}

TEST_F(HostPassTest, IsChosenWhereItIsPredictedToBeFaster) {
  Context context(options({}, slow_host()));
  const Problem p = problem("bias_column+relu");
  const Decision d = context.decide(p);
  EXPECT_EQ(d.tier, Tier::kDevice) << d.veto;
  double score = 1;
  for (const Factor& factor : d.factors) score *= factor.value;
  EXPECT_NEAR(score, d.score, 1e-9 * score);
  Product product(p);
  context.gemm(call_of(product));
  product.expect_right();
  EXPECT_EQ(context.last_answer()->tier, Tier::kDevice);
}

TEST_F(HostPassTest, IsRepeatableBitByBit) {
  const ContextOptions same = options();
  std::vector<float> first;
  for (int run = 0; run < 2; ++run) {
    Context context(same);
    Product product(problem("bias_column+gelu_erf"));
    context.gemm(call_of(product, TierChoice::kDevice));
    if (run == 0) first = product.c;
    EXPECT_EQ(std::memcmp(first.data(), product.c.data(), first.size() * sizeof(float)), 0);
  }
}

}  // namespace
}  // namespace rooftile
