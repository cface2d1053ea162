#include "core/block_format.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "core/numbers/random.h"
#include "core/types.h"

namespace rooftile {
namespace {

/// Largest error of a value over the range of its block, by the number of steps that a group of the
/// format has: half a step; or a whole one where a scale is rounded to 6 or 8 bits.
double most_error(BlockFormat format) {
  switch (format) {
    case BlockFormat::kQ8_0:
      return 0.5 / 127 * 1.01;
    case BlockFormat::kMxfp4:
      return 1.0 / 3;  // Between 4 and 6, under a power of two.
    case BlockFormat::kQ5_0:
      return 1.0 / 16 * 1.01;  // The side with one step less is cut off.
    case BlockFormat::kQ4_0:
      return 1.0 / 8 * 1.01;
    case BlockFormat::kQ4_K:
      return 2 * (0.5 / 15 + 1.0 / 63);
    case BlockFormat::kQ5_K:
      return 2 * (0.5 / 31 + 1.0 / 63);
    default:
      return 1.0 / 32 + 1.0 / 127;  // q6_k
  }
}

std::vector<float> random_values(const BlockLayout& layout, Random& random, float size) {
  std::vector<float> values(static_cast<std::size_t>(layout.elements));
  std::ranges::generate(values, [&] { return size * random.symmetric(); });
  return values;
}

TEST(BlockFormat, QuantisedValuesAreNear) {
  Random random(7);
  for (const BlockLayout& layout : block_layouts())
    for (const float size : {1e-3f, 1.0f, 250.0f}) {
      const std::vector<float> values = random_values(layout, random, size);
      std::vector<std::uint8_t> block(static_cast<std::size_t>(layout.bytes));
      std::vector<float> back(values.size());
      quantize_block(layout.format, values.data(), block.data());
      dequantize_blocks(layout.format, block.data(), 1, back.data());
      for (std::size_t i = 0; i < values.size(); ++i)
        EXPECT_NEAR(back[i], values[i], most_error(layout.format) * static_cast<double>(size))
            << layout.name << " " << i << " " << size;
    }
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
      for (const float x : values) EXPECT_LE(std::abs(static_cast<double>(x)), most) << layout.name;
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
