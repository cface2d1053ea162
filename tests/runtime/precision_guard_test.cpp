// Tests the range scan and the spot check separately: which operands and results they refuse, and
// which they accept.
#include "runtime/verify/precision_guard.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <limits>
#include <vector>

#include "runtime/host/host_tier.h"
#include "tests/support/call_of.h"
#include "tests/support/product.h"

namespace rooftile {
namespace {

using ::testing::HasSubstr;

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kInfinity = std::numeric_limits<float>::infinity();

TEST(RangeTest, IsOfTheElementsAndNotOfThePadding) {
  const std::vector<float> x = {1, -3, kNan, kNan, 2.5f, 0, kInfinity, 99};
  const Range of_x = range(DataType::kF32, {2, 2}, x.data(), 4);
  EXPECT_EQ(of_x.largest, 3);
  EXPECT_TRUE(of_x.finite);
  EXPECT_FALSE(of_x.whole);  // 2.5 is not an integer.
  EXPECT_FALSE(range(DataType::kF32, {2, 3}, x.data(), 4).finite);
  EXPECT_EQ(range(DataType::kF32, {2, 3}, x.data(), 4).largest, 3);
  EXPECT_EQ(range(DataType::kF32, {0, 2}, x.data(), 4).largest, 0);
}

TEST(RangeTest, FindsOneElementAtAnyPosition) {
  // The matrices are larger than one thread's share and than a chunk of widened elements.
  for (const DataType type : {DataType::kF32, DataType::kF16, DataType::kBf16}) {
    const std::int64_t rows = 301, columns = 2101;
    std::vector<float> values(static_cast<std::size_t>(rows * columns), 2.0f);
    for (const std::int64_t at : {std::int64_t{0}, columns + 1023, rows * columns - 1}) {
      auto& odd = values[static_cast<std::size_t>(at)];
      std::vector<char> stored(static_cast<std::size_t>(rows * columns * bytes_of(type)));
      const auto range_with = [&](float x) {
        odd = x;
        narrow(type, values.data(), stored.data(), rows * columns);
        return range(type, {rows, columns}, stored.data(), columns);
      };
      EXPECT_FALSE(range_with(kNan).finite);
      EXPECT_FALSE(range_with(-kInfinity).finite);
      EXPECT_FALSE(range_with(0.5f).whole);
      EXPECT_EQ(range_with(-1024).largest, 1024);
      const Range plain = range_with(2);
      EXPECT_TRUE(plain.finite && plain.whole);
    }
  }
}

TEST(RangeTest, EveryLargeFloatIsAnInteger) {
  const std::vector<float> x = {0x1p23f, 0x1.8p31f, -0x1p100f, 8388607.0f};
  EXPECT_TRUE(range(DataType::kF32, {1, 4}, x.data(), 4).whole);
  const std::vector<float> half = {4194303.5f};
  EXPECT_FALSE(range(DataType::kF32, {1, 1}, half.data(), 1).whole);
}

class RangeRefusalTest : public ::testing::Test {
 protected:
  std::optional<RangeRefusal> refusal() {
    return range_refusal({.problem = p_, .a = a_.data(), .b = b_.data(), .c = c_.data()});
  }

  Problem p_ = packed_problem(2, 3, 4);
  std::vector<float> a_ = std::vector<float>(8, 0.5f), b_ = std::vector<float>(12, 0.25f),
                     c_ = std::vector<float>(6, kNan);
};

TEST_F(RangeRefusalTest, OrdinaryNumbersPass) { EXPECT_FALSE(refusal()); }

TEST_F(RangeRefusalTest, NamesTheMatrixThatIsNotFinite) {
  b_.back() = kInfinity;
  ASSERT_TRUE(refusal());
  EXPECT_THAT(refusal()->reason, HasSubstr("B holds infinity or NaN"));
  EXPECT_FALSE(refusal()->needs_float64);
  p_.alpha = 0;  // A and B are not read.
  EXPECT_FALSE(refusal());
  p_.beta = 1;  // C is read.
  ASSERT_TRUE(refusal());
  EXPECT_THAT(refusal()->reason, HasSubstr("C holds"));
}

TEST_F(RangeRefusalTest, SumsThatMayOverflowNeedFloat64) {
  a_.front() = 1e20f;
  b_.front() = 8e17f;  // 1e20 * 8e17 * 4 = 3.2e38: below FLT_MAX, 3.4e38
  EXPECT_FALSE(refusal());
  b_.front() = 9e17f;
  ASSERT_TRUE(refusal());
  EXPECT_TRUE(refusal()->needs_float64);
  EXPECT_THAT(refusal()->reason, HasSubstr("3.6e+38"));
  p_.alpha = 1e-10f;  // alpha scales a sum that has already overflowed.
  EXPECT_TRUE(refusal());
}

TEST_F(RangeRefusalTest, IntegersBeyond24BitsNeedFloat64) {
  a_.assign(8, 2048);
  b_.assign(12, 2048);  // 2^11 * 2^11 * 4 = 2^24
  EXPECT_FALSE(refusal());
  b_.front() = 2049;
  ASSERT_TRUE(refusal());
  EXPECT_TRUE(refusal()->needs_float64);
  EXPECT_THAT(refusal()->reason, HasSubstr("2^24"));
  b_.back() = 0.5f;  // The operands are not all integers, so float32 rounding is allowed.
  EXPECT_FALSE(refusal());
}

TEST_F(RangeRefusalTest, EveryMatrixOfABatchIsScanned) {
  p_ = packed_problem(2, 3, 4, Transpose::kNo, Transpose::kNo, 3);
  a_.assign(3 * 8, 0.5f);
  b_.assign(3 * 12, 0.5f);
  EXPECT_FALSE(refusal());
  a_[2 * 8 + 7] = kNan;
  EXPECT_TRUE(refusal());
}

// The scales' product underflows in float64, and the elements do not.
TEST(SpotCheckTest, ScalesOfFloat64MayHaveAProductBeyondIt) {
  Problem p = padded_problem(9, 7, 20, Transpose::kNo, Transpose::kYes, 1, 0, parse_types("f64"));
  p.epilogue = parse_epilogue("row_scale+column_scale");
  Product product(p);
  const auto multiply = [](std::vector<char>& values, double by) {
    for (std::size_t i = 0; i < values.size() / sizeof(double); ++i)
      reinterpret_cast<double*>(values.data())[i] *= by;
  };
  multiply(product.stored_a_elements, 1e150);
  multiply(product.stored_b_elements, 1e150);
  multiply(product.row_scale, 1e-170);
  multiply(product.column_scale, 1e-170);
  Product before = product;
  run_on_host(HostBlas::get(), call_of(product), Tier::kHost);
  for (std::uint64_t seed = 0; seed < 20; ++seed)
    EXPECT_FALSE(SpotCheck(Precision::kStandard, seed)
                     .mismatch(call_of(before), product.c_data(), p.ldc, p.stride_c));
}

// The check accepts the host's results for all types, epilogues, batches and leading dimensions.
TEST(SpotCheckTest, RightResultsPass) {
  for (const char* types : {"f32", "f64", "f16", "f16_f16", "bf16_bf16", "i8_i32", "u8",
                            "f32xq4b32", "f16xq8b32z_f16", "f32xq4_k", "f16xq8_0"})
    for (const char* epilogue : {"", "row_scale+bias_column+gelu_erf+residual"}) {
      Problem p = padded_batch(
          padded_problem(9, 7, 70, Transpose::kNo, Transpose::kYes, 1, 1, parse_types(types)), 2,
          true);
      if (p.types.c == DataType::kI32 && *epilogue != '\0') continue;  // No epilogue.
      p.epilogue = parse_epilogue(epilogue);
      Product product(p), before(p);
      run_on_host(HostBlas::get(), call_of(product), Tier::kHost);
      for (std::uint64_t seed = 0; seed < 20; ++seed) {
        const auto mismatch = SpotCheck(Precision::kStandard, seed)
                                  .mismatch(call_of(before), product.c_data(), p.ldc, p.stride_c);
        EXPECT_FALSE(mismatch) << types << " " << epilogue << ": " << mismatch->what;
      }
    }
}

TEST(SpotCheckTest, CoversEveryElement) {
  Problem p = padded_batch(padded_problem(3, 2, 5, Transpose::kYes, Transpose::kNo), 2, false);
  Product product(p), before(p);
  run_on_host(HostBlas::get(), call_of(product), Tier::kHost);
  // One element at a time is wrong. With 16 samples of 12 elements, most seeds detect it.
  for (std::int64_t i = 0; i < p.batch; ++i)
    for (std::int64_t row = 0; row < p.m; ++row)
      for (std::int64_t column = 0; column < p.n; ++column) {
        float& element = product.c[static_cast<std::size_t>(i * p.stride_c + row * p.ldc + column)];
        const float right = std::exchange(element, element + 1);
        int seen = 0;
        for (std::uint64_t seed = 0; seed < 50; ++seed) {
          const auto mismatch = SpotCheck(Precision::kStandard, seed)
                                    .mismatch(call_of(before), product.c_data(), p.ldc, p.stride_c);
          if (!mismatch) continue;
          ++seen;
          EXPECT_TRUE(mismatch->wrong);
          EXPECT_THAT(mismatch->what, HasSubstr(fmt::format("({}, {})", row, column)));
        }
        EXPECT_GT(seen, 20);  // 75 % of 50 are expected. Below 21: once in 10^6 runs.
        element = right;
      }
}

// No kernel has a float32 sum of 4e40, and the guard that would refuse such operands is another
// one.
TEST(SpotCheckTest, SumsThatOverflowConvictNoKernel) {
  for (const float alpha : {1.0f, 1e-30f, kNan}) {
    Problem p = padded_problem(3, 5, 4, Transpose::kNo, Transpose::kNo, alpha);
    Product product(p);
    std::ranges::fill(product.a, 1e20f);
    std::ranges::fill(product.b, 1e20f);
    GemmCall call = call_of(product);
    call.a = product.a.data();
    call.b = product.b.data();
    std::vector<float> computed(product.c.size(), std::numeric_limits<float>::infinity());
    const auto mismatch =
        SpotCheck(Precision::kStandard, 3).mismatch(call, computed.data(), p.ldc, p.stride_c);
    ASSERT_TRUE(mismatch) << alpha;
    EXPECT_FALSE(mismatch->wrong) << mismatch->what;
  }
}

TEST(SpotCheckTest, HighPrecisionIsStricterThanCertification) {
  // The error is 10^-5 of the sum of magnitudes. Float32 sums of 2000 terms may have it, and
  // kStandard accepts it.
  Problem p = padded_problem(4, 4, 2000, Transpose::kNo, Transpose::kNo);
  Product product(p), before(p);
  run_on_host(HostBlas::get(), call_of(product), Tier::kHost64);
  // Factors are random in [-1, 1], so that 2000 magnitudes sum to 500.
  for (float& x : product.c) x += 1e-5f * 500;
  const auto check = [&](Precision precision) {
    return SpotCheck(precision, 7).mismatch(call_of(before), product.c_data(), p.ldc, p.stride_c);
  };
  EXPECT_FALSE(check(Precision::kStandard));
  ASSERT_TRUE(check(Precision::kHigh));
  EXPECT_FALSE(check(Precision::kHigh)->wrong);
  for (float& x : product.c) x = kNan;
  ASSERT_TRUE(check(Precision::kStandard));
  EXPECT_TRUE(check(Precision::kStandard)->wrong);
}

TEST(SpotCheckTest, OperandsOfHalfMayBeRounded) {
  Problem p = padded_problem(4, 4, 60, Transpose::kNo, Transpose::kNo);
  const ReferenceElement expected = {.value = 2, .magnitude = 16};
  Problem rounded = p;
  rounded.types.rounding = Rounding::kHalf;
  EXPECT_DOUBLE_EQ(error_bound(rounded, expected) - error_bound(p, expected), 0x1p-6);
  // Factors of 1 and errors between 1e-4 and 2^-10 of the sum of magnitudes.
  for (const Types& types : {p.types, rounded.types}) {
    p.types = types;
    Product product(p);
    for (std::vector<char>* const x : {&product.stored_a_elements, &product.stored_b_elements})
      std::fill_n(reinterpret_cast<float*>(x->data()), x->size() / sizeof(float), 1.0f);
    const std::vector<float> result(product.c.size(), 60 * (1 + 0x1p-11f));
    const auto mismatch = SpotCheck(Precision::kStandard, 3)
                              .mismatch(call_of(product), result.data(), p.ldc, p.stride_c);
    EXPECT_EQ(mismatch.has_value(), types == Types{});
  }
}

TEST(SpotCheckTest, InputsThatADeviceFlushesToZeroBlameNoKernel) {
  constexpr float kDenormal = 1e-39f, kLarge = 100;
  Problem p = padded_problem(5, 4, 3, Transpose::kNo, Transpose::kNo);
  Product product(p);
  const auto fill = [](std::vector<char>& elements, float value) {
    for (std::size_t at = 0; at < elements.size(); at += sizeof value)
      std::memcpy(elements.data() + at, &value, sizeof value);
  };
  fill(product.stored_a_elements, kDenormal);
  fill(product.stored_b_elements, kLarge);
  const std::vector<float> flushed(product.c.size(), 0.0f);
  const auto mismatch = SpotCheck(Precision::kStandard, 3)
                            .mismatch(call_of(product), flushed.data(), p.ldc, p.stride_c);
  ASSERT_TRUE(mismatch);
  EXPECT_FALSE(mismatch->wrong) << mismatch->what;
}

}  // namespace
}  // namespace rooftile
