#include "core/half.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <vector>

#include "core/half_software.h"

namespace rooftile {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

TEST(Half, HasTheValuesOfTheStandard) {
  EXPECT_EQ(from_f16(0x3c00), 1.0f);
  EXPECT_EQ(from_f16(0xc000), -2.0f);
  EXPECT_EQ(from_f16(0x7bff), 65504.0f);
  EXPECT_EQ(from_f16(0x0001), 0x1p-24f);  // smallest denormal
  EXPECT_EQ(from_f16(0x7c00), kInfinity);
  EXPECT_EQ(to_f16(65520.0f), 0x7c00);  // Halfway to the next number, which is infinity.
  EXPECT_EQ(to_f16(65519.0f), 0x7bff);
  EXPECT_EQ(to_f16(0x1p-26f), 0);
  EXPECT_EQ(std::bit_cast<std::uint32_t>(from_f16(0x8000)), 0x80000000u);
}

TEST(Half, RoundsToNearestEven) {
  EXPECT_EQ(to_f16(1.0f + 0x1p-11f), 0x3c00);      // Halfway, so rounded to even.
  EXPECT_EQ(to_f16(1.0f + 3 * 0x1p-11f), 0x3c02);  // Halfway, so rounded to even.
  EXPECT_EQ(to_f16(1.0f + 0x1.1p-11f), 0x3c01);
  EXPECT_EQ(to_bf16(1.0f + 0x1p-8f), 0x3f80);
  EXPECT_EQ(to_bf16(1.0f + 3 * 0x1p-8f), 0x3f82);
  EXPECT_EQ(to_bf16(1.0f + 0x1.1p-8f), 0x3f81);
}

std::uint16_t narrowed(DataType type, double x) {
  std::uint16_t bits = 0;
  narrow(type, &x, &bits, 1);
  return bits;
}

TEST(Half, IsRoundedOnceFromFloat64) {
  // The value is above the middle of two neighbours by less than float32's precision: rounding to
  // float32 first would make it a tie.
  EXPECT_EQ(narrowed(DataType::kF16, 1 + 0x1p-11 + 0x1p-40), 0x3c01);
  EXPECT_EQ(narrowed(DataType::kF16, -1 - 0x1p-11 - 0x1p-40), 0xbc01);
  EXPECT_EQ(narrowed(DataType::kF16, 1 + 3 * 0x1p-11 - 0x1p-40), 0x3c01);
  EXPECT_EQ(narrowed(DataType::kF16, 1 + 0x1p-11), 0x3c00);
  EXPECT_EQ(narrowed(DataType::kBf16, 1 + 0x1p-8 + 0x1p-40), 0x3f81);
  EXPECT_EQ(narrowed(DataType::kBf16, 1 + 3 * 0x1p-8 - 0x1p-40), 0x3f81);
  EXPECT_EQ(narrowed(DataType::kF16, 65520 - 0x1p-30), 0x7bff);
  EXPECT_EQ(narrowed(DataType::kF16, 65520), 0x7c00);
  EXPECT_EQ(narrowed(DataType::kBf16, 0x1.ffp127), 0x7f80);
  EXPECT_EQ(narrowed(DataType::kBf16, 0x1.ffp127 - 0x1p90), 0x7f7f);
  EXPECT_EQ(narrowed(DataType::kBf16, 1e300), 0x7f80);
  EXPECT_EQ(narrowed(DataType::kF16, 0x1p-25 + 0x1p-70), 0x0001);  // half of the smallest denormal
  EXPECT_EQ(narrowed(DataType::kF16, -1e-300), 0x8000);
  EXPECT_EQ(narrowed(DataType::kF16, -HUGE_VAL), 0xfc00);
  EXPECT_TRUE(std::isnan(from_f16(narrowed(DataType::kF16, std::nan("")))));
}

TEST(Half, IsWidenedToFloat64Exactly) {
  for (const DataType type :
       {DataType::kF16, DataType::kBf16, DataType::kI8, DataType::kU8, DataType::kI32}) {
    std::vector<unsigned char> bytes(2500 * sizeof(std::int32_t));
    for (std::size_t i = 0; i < bytes.size(); ++i)
      bytes[i] = static_cast<unsigned char>((i * 37 + 11) % 113);  // neither infinity nor NaN
    std::vector<double> wide(2500);
    widen(type, bytes.data(), wide.data(), 2500);
    for (std::int64_t i = 0; i < 2500; ++i)
      ASSERT_EQ(wide[static_cast<std::size_t>(i)], element(type, bytes.data(), i)) << i;
  }
}

TEST(Half, KeepsNanAndInfinity) {
  const auto quiet_in_low_bits = std::bit_cast<float>(0x7f800001u);
  EXPECT_TRUE(std::isnan(from_bf16(to_bf16(quiet_in_low_bits))));
  EXPECT_TRUE(std::isnan(from_f16(to_f16(std::nanf("")))));
  EXPECT_EQ(from_bf16(to_bf16(-kInfinity)), -kInfinity);
  EXPECT_EQ(from_bf16(to_bf16(std::numeric_limits<float>::max())), kInfinity);
}

TEST(Half, IntegerArithmeticGivesTheSameBits) {
  for (std::uint32_t bits = 0; bits < 0x10000; ++bits) {
    const auto half = static_cast<std::uint16_t>(bits);
    const float wide = from_f16(half), software = from_f16_software(half);
    if (std::isnan(wide)) {
      EXPECT_TRUE(std::isnan(software)) << bits;
      continue;
    }
    EXPECT_EQ(std::bit_cast<std::uint32_t>(software), std::bit_cast<std::uint32_t>(wide)) << bits;
    // Values beside it, and halfway to its neighbour, which a rounding must tell apart.
    for (const float ulps : {0.0f, 0.25f, 0.5f, 0.5000001f, 0.75f})
      for (const float x : {wide * (1 + ulps * 0x1p-10f), wide + ulps * 0x1p-24f})
        EXPECT_EQ(to_f16_software(x), to_f16(x)) << x;
  }
  EXPECT_TRUE(std::isnan(from_f16(to_f16_software(std::numeric_limits<float>::quiet_NaN()))));
}

TEST(Half, EveryBitPatternRoundTrips) {
  for (std::uint32_t bits = 0; bits < 0x10000; ++bits) {
    const auto half = static_cast<std::uint16_t>(bits);
    const float f = from_f16(half), b = from_bf16(half);
    ASSERT_TRUE(std::isnan(f) || to_f16(f) == half) << bits;
    ASSERT_TRUE(std::isnan(b) || to_bf16(b) == half) << bits;
  }
}

RC_GTEST_PROP(HalfProperty, ErrorsStayWithinHalfAUnit, ()) {
  const auto mantissa = static_cast<float>(*rc::gen::inRange(1 << 23, 1 << 24));
  const float x = std::ldexp(mantissa, *rc::gen::inRange(-37, -8));  // normal in both types
  RC_ASSERT(std::abs(from_f16(to_f16(x)) - x) <= x * 0x1p-11f);
  RC_ASSERT(std::abs(from_bf16(to_bf16(x)) - x) <= x * 0x1p-8f);
}

TEST(Half, ArraysAndElementsAgree) {
  // More than one vector, and a remainder.
  std::vector<float> values = {0.0f, -1.5f, 3.140625f, 1e-6f, -7e4f, 65519.0f, -0.0f};
  for (int i = 0; i < 20; ++i) values.push_back(1.0f + static_cast<float>(i) * 0x1p-11f);
  for (DataType type : {DataType::kF32, DataType::kF16, DataType::kBf16}) {
    std::vector<char> stored(values.size() * static_cast<std::size_t>(bytes_of(type)));
    const auto count = static_cast<std::int64_t>(values.size());
    narrow(type, values.data(), stored.data(), count);
    std::vector<float> back(values.size());
    widen(type, stored.data(), back.data(), count);
    for (std::int64_t i = 0; i < count; ++i)
      EXPECT_EQ(element(type, stored.data(), i), back[static_cast<std::size_t>(i)]);
    if (type == DataType::kF16) {
      for (std::size_t i = 0; i < values.size(); ++i)
        EXPECT_EQ(back[i], from_f16(to_f16(values[i]))) << values[i];
    }
  }
}

TEST(Half, IntegersAreRoundedAndHeldInTheirRange) {
  const std::vector<float> values = {
      0.0f,   127.0f, 128.0f, 200.4f,  200.5f,  255.0f,
      256.0f, 1e10f,  -1.0f,  -128.0f, -129.0f, std::numeric_limits<float>::quiet_NaN()};
  const auto count = static_cast<std::int64_t>(values.size());
  const auto narrowed = [&](DataType type) {
    std::vector<char> stored(values.size());
    narrow(type, values.data(), stored.data(), count);
    std::vector<float> back(values.size());
    widen(type, stored.data(), back.data(), count);
    for (std::int64_t i = 0; i < count; ++i)
      EXPECT_EQ(element(type, stored.data(), i), back[static_cast<std::size_t>(i)]);
    return back;
  };
  EXPECT_EQ(narrowed(DataType::kU8),
            (std::vector<float>{0, 127, 128, 200, 200, 255, 255, 255, 0, 0, 0, 0}));
  EXPECT_EQ(narrowed(DataType::kI8),
            (std::vector<float>{0, 127, 127, 127, 127, 127, 127, 127, -1, -128, -128, 0}));
}

}  // namespace
}  // namespace rooftile
