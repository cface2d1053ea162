// Sums that are longer than one dispatch may run. Lavapipe leaves loops after 65535 trips; its
// kernels add ranges of k, and what they refuse is not taken for their failure.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <string>
#include <vector>

#include "core/error.h"
#include "core/half.h"
#include "generator/space.h"
#include "runtime/device/device.h"
#include "runtime/dispatch/context.h"
#include "tests/support/call_of.h"
#include "tests/support/fast_kernel.h"
#include "tests/support/first_device.h"
#include "tests/support/product.h"
#include "tests/support/refusal.h"
#include "tests/support/scratch.h"
#include "tests/support/synthetic_database.h"

namespace rooftile {
namespace {

using ::testing::HasSubstr;

constexpr std::int64_t kLong = 600'001;  // more than 65535 trips of any of the kernels below

Problem long_problem(const std::string& types = "f32", const std::string& epilogue = "") {
  Problem p = packed_problem(3, 2, kLong, Transpose::kNo, Transpose::kYes, 1, parse_types(types));
  if (!epilogue.empty()) p.epilogue = parse_epilogue(epilogue);
  p.alpha = 0x1p-10f;
  p.beta = 0.5f;
  return p;
}

/// A and B of small integers, whose sums are exact in float32: the error bound of random ones grows
/// with k, and would hide a range that is left out or added twice. B differs from range to range.
void make_exact(Product& product) {
  const Problem& p = product.problem;
  std::ranges::fill(product.a, 1.0f);
  for (std::size_t i = 0; i < product.b.size(); ++i) {
    const auto at = static_cast<std::int64_t>(i), row = at % (p.batch > 1 ? p.stride_b : at + 1);
    const std::int64_t step = p.trans_b == Transpose::kYes ? row % p.ldb : row / p.ldb;
    product.b[i] = static_cast<float>(step / 65'536 % 3 + 1);
  }
  const auto store = [&](const std::vector<float>& x, std::vector<char>& elements) {
    narrow(p.types.a, x.data(), elements.data(), static_cast<std::int64_t>(x.size()));
  };
  store(product.a, product.stored_a_elements);
  store(product.b, product.stored_b_elements);
}

/// Expects alpha times the exact sum plus beta times C, which a relu leaves as it is, rounded to
/// C's type.
void expect_exact(const Product& product) {
  const Problem& p = product.problem;
  double sum = 0;
  for (std::int64_t step = 0; step < p.k; ++step) sum += static_cast<double>(step / 65'536 % 3 + 1);
  const double relative = p.types.c == DataType::kF32 ? 0x1p-22 : 0x1p-8;
  std::vector<float> c(product.c_before.size());
  if (p.types.c == DataType::kF32)
    c = product.c;
  else
    widen(p.types.c, product.stored_c_elements.data(), c.data(),
          static_cast<std::int64_t>(c.size()));
  for (std::int64_t b = 0; b < p.batch; ++b)
    for (std::int64_t i = 0; i < p.m; ++i)
      for (std::int64_t j = 0; j < p.n; ++j) {
        const auto at = static_cast<std::size_t>(b * p.stride_c + i * p.ldc + j);
        const double before = p.beta == 0 ? 0 : double{p.beta} * product.c_before[at];
        ASSERT_NEAR(c[at], p.alpha * sum + before, relative * (p.alpha * sum + std::abs(before)))
            << to_string(p);
      }
}

class LongSums : public ::testing::Test {
 protected:
  void tune(const std::string& types = "f32", const std::string& epilogue = "",
            const std::vector<Variant>& kernels = {}) {
    const std::vector<Variant> usual = {fast_kernel(device_), fallback_variant()};
    write_test_database(folder_ / "tuned.db", device_, kernels.empty() ? usual : kernels,
                        epilogue.empty() ? Epilogue() : parse_epilogue(epilogue),
                        parse_types(types));
  }
  ContextOptions options() const {
    return {.database = folder_ / "tuned.db", .cache_folder = folder_ / "cache"};
  }
  static void expect_right(Context& context, const Problem& p) {
    Product product(p);
    if (p.types.c != DataType::kI32) make_exact(product);
    context.gemm(call_of(product, TierChoice::kDevice));
    product.expect_right();
    if (p.types.c != DataType::kI32) expect_exact(product);
  }
  /// A call after a refused one runs on the same device, with the same kernel as before.
  static void expect_unharmed(Context& context, const std::string& types,
                              const std::string& epilogue) {
    Problem p = long_problem(types, epilogue);
    p.k = 65;
    p.lda = p.ldb = p.k;
    expect_right(context, p);
    EXPECT_EQ(context.device_state().last_failure, "");
  }
  ScratchFolder folder_;
  DeviceProfile device_ = first_device();
};

TEST_F(LongSums, AreComputedOnTheDevice) {
  tune();
  Context context(options());
  for (const auto& [m, n, k] :
       {std::array{64, 64, 64}, {1, 1, 4194304}, {5, 7, 1048577}, {64, 64, 64}})
    expect_right(context, packed_problem(m, n, k));
  Problem batch = padded_batch(long_problem(), 3, false);
  expect_right(context, batch);
  EXPECT_EQ(context.device_state().last_failure, "");
  EXPECT_EQ(context.explain({.problem = batch}).decision.veto, "");
}

TEST_F(LongSums, OfIntegersAreExact) {
  // One step a trip: the longest sum that int32 holds takes two dispatches.
  tune("i8_i32", "", {parse_variant("family=naive tile_m=8 tile_n=8")});
  Context context(options());
  Problem p =
      packed_problem(3, 2, 131'000, Transpose::kNo, Transpose::kYes, 1, parse_types("i8_i32"));
  p.beta = 1;
  expect_right(context, p);
}

// C in 16 bits and epilogues need a pass after the last range of k. The host makes it.
TEST_F(LongSums, ThatMustNotBeRoundedOnTheWayAreLeftToAPass) {
  tune();
  for (const auto& [types, epilogue] :
       {std::array<std::string, 2>{"f32", "relu"}, {"f16_f16", ""}, {"bf16_bf16", "relu"}}) {
    tune(types, epilogue);
    Context context(options());
    expect_right(context, long_problem(types, epilogue));
    expect_unharmed(context, types, epilogue);
  }
}

// The plain kernel that makes the sums is certified where none is tuned.
TEST_F(LongSums, NeedNoTuningOfThePlainKernel) {
  for (const bool tuned : {true, false})
    for (const auto& [types, epilogue] :
         {std::array<std::string, 2>{"f32", "relu"}, {"f16_f16", ""}}) {
      std::filesystem::remove(folder_ / "tuned.db");
      if (tuned) tune(types, epilogue);
      Context context(options());
      expect_right(context, long_problem(types, epilogue));
      expect_unharmed(context, types, epilogue);
    }
}

TEST_F(LongSums, AreRefusedWhereADeterministicContextHasNoPlainKernelAndTheHostAnswers) {
  if (device_.limits.max_loop_trips == 0) return;  // such a driver refuses none
  tune("f32", "relu");
  ContextOptions certifies_none = options();
  certifies_none.deterministic = Deterministic::kYes;
  Context context(certifies_none);
  const Problem p = long_problem("f32", "relu");
  Product product(p);
  EXPECT_THAT(context.explain(call_of(product, TierChoice::kAuto)).decision.veto,
              HasSubstr("loop trips"));
  EXPECT_THAT(message_of([&] { context.gemm(call_of(product, TierChoice::kDevice)); },
                         ErrorCode::kUnsupported),
              HasSubstr("loop trips"));
  EXPECT_TRUE(product.c_is_untouched());
  context.gemm(call_of(product, TierChoice::kAuto));
  product.expect_right();
  expect_unharmed(context, "f32", "relu");
}

// A database of an older Rooftile does not know the limit, so that only the opened device does.
TEST_F(LongSums, ThatOnlyTheOpenedDeviceRefusesAreNoFailureOfAKernel) {
  if (device_.limits.max_loop_trips == 0) return;
  device_.limits.max_loop_trips = 0;
  tune("f32", "relu");
  Context context(options());
  Product product(long_problem("f32", "relu"));
  EXPECT_THROW(context.gemm(call_of(product, TierChoice::kDevice)), Error);
  EXPECT_TRUE(product.c_is_untouched());
  expect_unharmed(context, "f32", "relu");
}

}  // namespace
}  // namespace rooftile
