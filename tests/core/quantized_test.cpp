#include "core/quantized.h"

#include <gmock/gmock.h>
#include <rapidcheck/gtest.h>

#include <cmath>
#include <limits>

#include "core/error.h"
#include "core/half.h"
#include "tests/core/random_weights.h"
#include "tests/support/refusal.h"

namespace rooftile {
namespace {

TEST(Quantized, ReadsTheLayoutOfMatMulNBits) {
  // Two rows of three blocks of 16. Each row holds the nibbles 0, 1, 2, ...; its scales are 1, 10,
  // 100 and 2, 20, 200.
  const Problem p =
      packed_problem(1, 2, 41, Transpose::kNo, Transpose::kYes, 1, parse_types("f32xq4b16z"));
  std::vector<std::uint8_t> values(2 * 24);
  for (std::size_t i = 0; i < values.size(); ++i)
    values[i] = static_cast<std::uint8_t>((2 * i) % 16 | (2 * i + 1) % 16 << 4);
  const float scales[] = {1, 10, 100, 2, 20, 200};
  const std::uint8_t zero_points[] = {0x83, 0x01, 0x20, 0x0f};  // 3, 8, 1 and 0, 2, 15
  const QuantizedOperand b = {values.data(), scales, zero_points};
  EXPECT_EQ(dequantized(p, b, 0, 0), (0 - 3) * 1);
  EXPECT_EQ(dequantized(p, b, 0, 15), (15 - 3) * 1);
  EXPECT_EQ(dequantized(p, b, 0, 17), (1 - 8) * 10);
  EXPECT_EQ(dequantized(p, b, 0, 40), (8 - 1) * 100);
  EXPECT_EQ(dequantized(p, b, 1, 5), (5 - 0) * 2);
  EXPECT_EQ(dequantized(p, b, 1, 30), (14 - 2) * 20);
  EXPECT_EQ(dequantized(p, b, 1, 32), (0 - 15) * 200);
  std::vector<double> magnitudes(41);
  dequantized_magnitudes(p, b, 1, magnitudes.data());
  EXPECT_EQ(magnitudes[5], (5 + 0) * 2);
  EXPECT_EQ(magnitudes[32], (0 + 15) * 200);
  std::vector<float> rows(2 * 41);
  dequantize(p, b, 0, 2, rows.data(), 41);
  for (std::int64_t row = 0; row < 2; ++row)
    for (std::int64_t step = 0; step < 41; ++step)
      EXPECT_EQ(static_cast<double>(rows[static_cast<std::size_t>(row * 41 + step)]),
                dequantized(p, b, row, step));
}

TEST(Quantized, ReadsBytesAndFloatZeroPoints) {
  const Problem p =
      packed_problem(1, 1, 16, Transpose::kNo, Transpose::kYes, 1, parse_types("f32xq8b16zf"));
  std::vector<std::uint8_t> values(16, 200);
  const float scale = 0.5f, zero_point = 1.25f;
  EXPECT_EQ(dequantized(p, {values.data(), &scale, &zero_point}, 0, 7), (200 - 1.25) * 0.5);
}

/// Quantising and dequantising changes each value by at most one step, inside the range by half a
/// step. Both memory orders give the same result. Padding of the last block dequantises to zero,
/// as nearly as the block can represent it.
RC_GTEST_PROP(Quantized, ValuesComeBackWithinAStep, ()) {
  const Types types = random_quantized_types();
  const std::int64_t rows = *rc::gen::inRange(1, 5), k = *rc::gen::inRange(1, 150);
  std::vector<float> values(static_cast<std::size_t>(rows * k)), turned(values.size());
  for (std::int64_t row = 0; row < rows; ++row)
    for (std::int64_t step = 0; step < k; ++step)
      turned[static_cast<std::size_t>(step * rows + row)] =
          values[static_cast<std::size_t>(row * k + step)] =
              static_cast<float>(*rc::gen::inRange(-1000, 1000)) / 100;
  const QuantizedMatrix matrix = quantize(types, rows, k, values.data(), k, 1);
  const QuantizedMatrix same = quantize(types, rows, k, turned.data(), 1, rows);
  RC_ASSERT(matrix.values == same.values);
  RC_ASSERT(matrix.scales == same.scales);
  RC_ASSERT(matrix.zero_points == same.zero_points);
  const Problem p = packed_problem(1, rows, k, Transpose::kNo, Transpose::kYes, 1, types);
  const std::int64_t blocks = ld_quantized(p) / types.b.block;
  for (std::int64_t row = 0; row < rows; ++row)
    for (std::int64_t step = 0; step < k; ++step) {
      const std::int64_t block = row * blocks + step / types.b.block;
      const double scale = element(types.a, matrix.scales.data(), block);
      // Rounding of float16 scales and zero points adds an error proportional to the number of
      // steps from zero.
      const double rounding = types.a == DataType::kF16 ? 0x1p-10 * (1 << types.b.bits) : 1e-4;
      const double x = static_cast<double>(values[static_cast<std::size_t>(row * k + step)]);
      RC_ASSERT(std::abs(dequantized(p, matrix.operand(), row, step) - x) <=
                std::abs(scale) * (1 + rounding) + 1e-9);
    }
}

/// Each block satisfies the checks of a call, and each value changes by at most one step plus the
/// error of rounding a float zero point to A's type.
RC_GTEST_PROP(Quantized, WeightsOfEveryMagnitudeHaveStepsWithinTheirType, ()) {
  const Types types = random_quantized_types();
  const std::int64_t rows = *rc::gen::inRange(1, 4), k = *rc::gen::inRange(1, 300);
  const std::vector<float> values = random_weights(types, rows, k);
  const QuantizedMatrix matrix = quantize(types, rows, k, values.data(), k, 1);
  const Problem p = packed_problem(1, rows, k, Transpose::kNo, Transpose::kYes, 1, types);
  const std::int64_t blocks = ld_quantized(p) / types.b.block;
  const double unit = types.a == DataType::kF16 ? 0x1p-10 : 0x1p-23;
  for (std::int64_t row = 0; row < rows; ++row)
    for (std::int64_t block = 0; block < blocks; ++block) {
      const double scale = std::abs(element(types.a, matrix.scales.data(), row * blocks + block)),
                   zero = zero_point(p, matrix.operand(), row, block);
      RC_ASSERT(scale * largest_distance(types.b, zero) <= largest_weight(types.a));
      const std::int64_t first = block * types.b.block,
                         last = std::min<std::int64_t>(k, first + types.b.block);
      double largest = 0;
      for (std::int64_t step = first; step < last; ++step)
        largest = std::max(
            largest,
            std::abs(static_cast<double>(values[static_cast<std::size_t>(row * k + step)])));
      // The scale may be rounded down once, at the end of the type's range.
      const double allowed = scale * (1 + unit * (1 << types.b.bits)) +
                             (types.b.zero_point == ZeroPoint::kFloat ? 2 * unit * largest : 0);
      for (std::int64_t step = first; step < last; ++step) {
        const double x = static_cast<double>(values[static_cast<std::size_t>(row * k + step)]);
        RC_ASSERT(std::abs(dequantized(p, matrix.operand(), row, step) - x) <= allowed);
      }
    }
}

TEST(Quantized, BlocksOfEqualValuesAreExactWithFloatZeroPoints) {
  for (const float x : {5.0f, -300.0f, 0x1p-24f, 65504.0f, -65504.0f, 65472.0f}) {
    const std::vector<float> values(16, x);
    for (const char* text : {"f16xq4b16zf", "f16xq8b16zf", "f32xq4b16zf"}) {
      const Types types = parse_types(text);
      const QuantizedMatrix m = quantize(types, 1, 16, values.data(), 16, 1);
      const Problem p = packed_problem(1, 1, 16, Transpose::kNo, Transpose::kYes, 1, types);
      EXPECT_EQ(dequantized(p, m.operand(), 0, 7), static_cast<double>(x)) << text;
    }
  }
}

// The whole range of float32, whose width exceeds the largest float32.
TEST(Quantized, TheLargestNumbersHaveFiniteScales) {
  constexpr float kLargest = std::numeric_limits<float>::max();
  std::vector<float> values(16, kLargest);
  values[3] = -kLargest;
  for (const char* text : {"f32xq4b16", "f32xq4b16z", "f32xq8b16z", "f32xq8b16zf"}) {
    const Types types = parse_types(text);
    const QuantizedMatrix m = quantize(types, 1, 16, values.data(), 16, 1);
    const Problem p = packed_problem(1, 1, 16, Transpose::kNo, Transpose::kYes, 1, types);
    const double scale = std::abs(element(DataType::kF32, m.scales.data(), 0));
    EXPECT_LE(std::abs(dequantized(p, m.operand(), 0, 0) - static_cast<double>(kLargest)), scale)
        << text;
    EXPECT_LE(std::abs(dequantized(p, m.operand(), 0, 3) + static_cast<double>(kLargest)), scale)
        << text;
  }
}

TEST(Quantized, WithoutZeroPointsTheLargestMagnitudeIsExact) {
  std::vector<float> values(16, 0.25f);
  values[3] = -4;
  const QuantizedMatrix m = quantize(parse_types("f32xq4b16"), 1, 16, values.data(), 16, 1);
  EXPECT_EQ(reinterpret_cast<const float*>(m.scales.data())[0], 0.5f);
  const Problem p =
      packed_problem(1, 1, 16, Transpose::kNo, Transpose::kYes, 1, parse_types("f32xq4b16"));
  EXPECT_EQ(dequantized(p, m.operand(), 0, 3), -4);
}

TEST(Quantized, ABlockOfZerosIsExact) {
  const std::vector<float> values(32, 0.0f);
  for (const char* text : {"f32xq4b16", "f16xq8b16z", "f32xq4b16zf"}) {
    const Types types = parse_types(text);
    const QuantizedMatrix m = quantize(types, 2, 16, values.data(), 16, 1);
    const Problem p = packed_problem(1, 2, 16, Transpose::kNo, Transpose::kYes, 1, types);
    for (std::int64_t step = 0; step < 16; ++step)
      EXPECT_EQ(dequantized(p, m.operand(), 1, step), 0) << text;
  }
}

/// Why two rows of these weights cannot be quantised; empty: they can.
std::string refusal(const char* types, std::int64_t k, const std::vector<float>& values) {
  return message_of([&] { quantize(parse_types(types), 2, k, values.data(), k, 1); },
                    ErrorCode::kInvalidArgument);
}

// A block's scale is a 16-bit float, of which the K formats take 15 * 63 times and more for what is
// above their minimum, and 63 times for the minimum itself; that of MXFP4 is a power of two.
TEST(Quantized, RefusesWeightsThatNoScaleOfABlockHolds) {
  std::vector<float> values(512);
  constexpr float kHalf = 65504, kAny = std::numeric_limits<float>::infinity();
  struct Reach {
    const char* types;
    float lowest, highest;
  };
  const Reach all[] = {{"f32xq4_0", -8 * kHalf, 8 * kHalf},
                       {"f32xq5_0", -16 * kHalf, 16 * kHalf},
                       {"f32xq8_0", -127 * kHalf, 127 * kHalf},
                       {"f32xq4_k", -63 * kHalf, 15 * 63 * kHalf},
                       {"f32xq5_k", -63 * kHalf, 31 * 63 * kHalf},
                       {"f32xq6_k", -127 * 32 * kHalf, 127 * 32 * kHalf},
                       {"f32xmxfp4", -0x6p125F, 0x6p125F},
                       {"f32xq4_1", -kHalf, 15 * kHalf},
                       {"f32xq5_1", -kHalf, 31 * kHalf},
                       {"f32xq2_k", -15 * kHalf, 3 * 15 * kHalf},
                       {"f32xq3_k", -31 * 4 * kHalf, 31 * 4 * kHalf},
                       {"f32xiq4_nl", -127 * kHalf, 127 * kHalf},
                       {"f32xiq4_xs", -31 * 127 * kHalf, 31 * 127 * kHalf},
                       {"f32xnvfp4", -6 * 448, 6 * 448}};
  for (const auto& [text, lowest, highest] : all)
    for (const float most : {lowest, highest}) {
      SCOPED_TRACE(text);
      const Types types = parse_types(text);
      const Problem p = packed_problem(1, 2, 256, Transpose::kNo, Transpose::kYes, 1, types);
      values[300] = most;
      const QuantizedMatrix m = quantize(types, 2, 256, values.data(), 256, 1);
      EXPECT_NEAR(dequantized(p, m.operand(), 1, 300 - 256) / static_cast<double>(most), 1, 1e-6);
      values[300] = std::nextafter(most, most < 0 ? -kAny : kAny);
      EXPECT_THAT(refusal(text, 256, values), testing::EndsWith("; scale them"));
    }
  values[300] = -6e7F;
  EXPECT_EQ(refusal("f32xq4_k", 256, values),
            "rows 0 to 255 of column 1 (k x n) have weights from -60000000 to 0: a block of q4_k "
            "holds weights from -4126752 to 61901280, at most 61901280 apart; scale them");
  values[300] = 6e7F;
  values[301] = -4e6F;
  EXPECT_THAT(refusal("f32xq4_k", 256, values), testing::HasSubstr("from -4000000 to 60000000"));
  EXPECT_EQ(refusal("f32xq8_0", 256, values),
            "rows 32 to 63 of column 1 (k x n) have weights from -4000000 to 60000000: a block of "
            "q8_0 holds weights from -8319008 to 8319008; scale them");
}

// A kernel may round weights to float16, and a block allows more than it holds.
TEST(Quantized, RefusesBlocksThatACallBesideF16Refuses) {
  std::vector<float> values(512, 60000.0F);
  EXPECT_EQ(refusal("f16xq4_k", 256, values), "");
  values[300] = -60000;
  EXPECT_THAT(
      refusal("f16xq4_k", 256, values),
      testing::HasSubstr("beside A in f16 all that a block of q4_k can hold must lie within "
                         "65504; use f32"));
  EXPECT_EQ(refusal("f32xq4_k", 256, values), "");
}

TEST(Quantized, RefusesWhatHasNoSteps) {
  std::vector<float> values(32, 1.0f);
  const auto refused = [&](const char* types) { return refusal(types, 16, values); };
  values[25] = std::numeric_limits<float>::infinity();
  EXPECT_THAT(refused("f32xq4b16"), testing::HasSubstr("row 9, column 1 (k x n) is inf"));
  values[25] = -65520;
  EXPECT_THAT(refused("f16xq4b16"),
              testing::HasSubstr("row 9, column 1 (k x n) is -65520: with A in f16 weights must "
                                 "lie within 65504; use f32"));
  EXPECT_EQ(refused("f32xq4b16"), "");
  values[25] = -65504;
  EXPECT_EQ(refused("f16xq4b16"), "");
  EXPECT_THROW(quantize(Types{}, 1, 16, values.data(), 16, 1), Error);
}

}  // namespace
}  // namespace rooftile
