#include "core/block_format.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "core/block_quantize.h"
#include "core/error.h"
#include "core/numbers/random.h"
#include "core/quantized.h"
#include "tests/core/random_weights.h"

namespace rooftile {
namespace {

/// A 16-bit scale that is not below this one, at most.
double half_above(double scale) { return scale * (1 + 0x1p-10) + 0x1p-24; }

/// Largest error of a value of a block whose values reach from low (at most 0) to high (at least
/// 0). Steps follow from the extremes and from the number of integers; scales are rounded up.
double most_error(BlockFormat format, double low, double high) {
  const double most = std::max(-low, high), range = high - low;
  // A scale that is a multiple of the block's is less than one of it too large, or ends half a step
  // too early; a minimum is half of the block's off.
  const auto step = [&](double wanted, int multiples) {
    return wanted + half_above(wanted / multiples);
  };
  const auto with_minimum = [&](int last, int multiples) {
    return step(range / last, multiples) / 2 + half_above(-low / multiples) / 2;
  };
  // The minimum is stored itself, rounded away from zero.
  const auto with_own_minimum = [&](int last) {
    return half_above((half_above(-low) + high) / last) / 2;
  };
  switch (format) {
    case BlockFormat::kQ8_0:
      return half_above(most / 127) / 2;
    case BlockFormat::kQ5_0:
      return half_above(most / 16);  // The side with one step less is cut off.
    case BlockFormat::kQ4_0:
      return half_above(most / 8);
    case BlockFormat::kQ4_K:
      return with_minimum(15, 63);
    case BlockFormat::kQ5_K:
      return with_minimum(31, 63);
    case BlockFormat::kQ6_K:
      return 1.5 * step(most / 32, 127);
    case BlockFormat::kQ4_1:
      return with_own_minimum(15);
    case BlockFormat::kQ5_1:
      return with_own_minimum(31);
    case BlockFormat::kQ2_K:
      return with_minimum(3, 15);
    case BlockFormat::kQ3_K:
      return 1.5 * step(most / 4, 31);
    case BlockFormat::kIq4Nl:  // The side that ends at 113 instead of 127.
      return 14 * half_above(most / 127);
    case BlockFormat::kIq4Xs:
      return 14 * step(most / 127, 31) + most / 254;
    case BlockFormat::kNvfp4:  // Half of what is between 4 and 6, under scales an eighth apart.
      return std::max(most / 6 * 1.125, 0x1p-9);
    default:  // MXFP4: half of what is between 4 and 6, of which the largest is more than 3.
      return std::max(most / 3, 0x1p-127);
  }
}

/// Values of every magnitude and pattern: what cannot be held is refused, else each comes back
/// within the error that the format's steps allow, and no block allows more than float32 holds.
RC_GTEST_PROP(BlockFormat, ValuesOfEveryMagnitudeComeBackWithinTheirSteps, ()) {
  const BlockLayout& layout =
      block_layouts()[*rc::gen::inRange<std::size_t>(0, block_layouts().size())];
  const std::int64_t k = layout.elements;
  const Types types = {.b = quantization_of(layout.format)};
  const std::vector<float> values = random_weights(types, 1, k);
  const auto [lowest, highest] = std::ranges::minmax(values);
  const double low = std::min(static_cast<double>(lowest), 0.0),
               high = std::max(static_cast<double>(highest), 0.0);
  const BlockReach reach = reach_of(layout.format);
  const bool held = low >= reach.lowest && high <= reach.highest && high - low <= reach.widest;
  QuantizedMatrix matrix;
  try {
    matrix = quantize(types, 1, k, values.data(), k, 1);
    RC_ASSERT(held);
  } catch (const Error&) {
    RC_ASSERT(!held);
    return;
  }
  RC_ASSERT(largest_weight_of_block(layout.format, matrix.values.data()) <=
            static_cast<double>(std::numeric_limits<float>::max()));
  std::vector<float> back(values.size());
  dequantize_blocks(layout.format, matrix.values.data(), 1, back.data());
  // What float32 rounds: a quotient, a product and a difference.
  const double most = most_error(layout.format, low, high) + 0x1p-21 * (high - low) + 0x1p-140;
  for (std::size_t i = 0; i < values.size(); ++i)
    RC_ASSERT(std::abs(static_cast<double>(back[i]) - static_cast<double>(values[i])) <= most);
}

TEST(BlockFormat, ZerosStayZeros) {
  for (const BlockLayout& layout : block_layouts()) {
    const std::vector<float> zeros(static_cast<std::size_t>(layout.elements));
    std::vector<std::uint8_t> block(static_cast<std::size_t>(layout.bytes), 0xff);
    std::vector<float> back(zeros.size(), 1.0f);
    quantize_block(layout.format, zeros.data(), block.data());
    dequantize_blocks(layout.format, block.data(), 1, back.data());
    EXPECT_EQ(back, zeros) << layout.name;
  }
}

TEST(BlockFormat, NoElementIsLargerThanTheScalesAllow) {
  Random random(8);
  for (const BlockLayout& layout : block_layouts())
    for (int i = 0; i < 200; ++i) {
      std::vector<std::uint8_t> block(static_cast<std::size_t>(layout.bytes));
      std::ranges::generate(block, [&] { return static_cast<std::uint8_t>(random.below(256)); });
      std::vector<float> values(static_cast<std::size_t>(layout.elements));
      dequantize_blocks(layout.format, block.data(), 1, values.data());
      const double most = largest_weight_of_block(layout.format, block.data());
      if (!(most <= static_cast<double>(std::numeric_limits<float>::max()))) continue;
      // The difference of value and minimum is rounded to float32.
      for (const float x : values)
        EXPECT_LE(std::abs(static_cast<double>(x)), most * (1 + 0x1p-24)) << layout.name;
    }
}

TEST(BlockFormat, LayoutsAreInTheirOrderAndFitTheTypes) {
  for (const BlockLayout& layout : block_layouts()) {
    EXPECT_EQ(layout_of(layout.format).name, layout.name);
    const Types types = {.b = quantization_of(layout.format)};
    EXPECT_EQ(bytes_of_b(types, 512), 512 / layout.elements * layout.bytes);
    EXPECT_EQ(elements_of_b(types, layout.bytes), layout.elements);
    EXPECT_EQ(to_string(types), fmt::format("f32x{}", layout.name));
  }
}

}  // namespace
}  // namespace rooftile
