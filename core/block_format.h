// Dequantises and quantises blocks that hold their own scales.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include "core/block_layout.h"

namespace rooftile {

inline constexpr int kMostGroups = 16;  // in a block

/// A block's content: element i stands for values[i] * scales[i / kGroup] - minimums[i / kGroup].
/// Values are integers, with the zero point subtracted, or half integers. The product, and the
/// scale and the minimum themselves, are exact in float32.
struct UnpackedBlock {
  std::array<float, std::size_t{kGroup} * kMostGroups> values;
  std::array<float, kMostGroups> scales, minimums;
};

/// block: layout_of(format).bytes bytes. Every pattern is some block; scales may be infinite or
/// NaN.
void unpack_block(BlockFormat format, const std::uint8_t* block, UnpackedBlock& unpacked);

/// Upper bound of the magnitudes of a block's elements. It follows from the block's 16-bit scales
/// (and their signs) or its power of two alone, and is NaN or infinite where one of them is.
double largest_weight_of_block(BlockFormat format, const std::uint8_t* block);

/// Writes the block's first `count` elements.
template <typename Real>
void write_elements(const UnpackedBlock& block, std::int64_t count, Real* elements) {
  for (std::size_t group = 0; static_cast<std::int64_t>(group) * kGroup < count; ++group) {
    const auto scale = static_cast<Real>(block.scales[group]),
               minimum = static_cast<Real>(block.minimums[group]);
    const std::size_t first = group * kGroup,
                      last = std::min(static_cast<std::size_t>(count), first + kGroup);
    for (std::size_t i = first; i < last; ++i)
      elements[i] = static_cast<Real>(block.values[i]) * scale - minimum;
  }
}

/// Writes the elements of `count` blocks that follow each other.
void dequantize_blocks(BlockFormat format, const std::uint8_t* blocks, std::int64_t count,
                       float* values);

/// The weights that a block can hold: from lowest to highest, and at most `widest` apart, with zero
/// among them.
struct BlockReach {
  double lowest, highest, widest;
};
BlockReach reach_of(BlockFormat format);

/// Quantises layout_of(format).elements finite numbers within reach_of(format). Each group gets a
/// scale for its range, and each value becomes the nearest step of it. 16-bit scales are rounded
/// away from zero, so that steps reach all values, however small these are; where a group's scale
/// is a multiple of the block's, and at the side of Q4_0, Q5_0 and Q6_K that has one step less,
/// they end at most one and a half steps before.
void quantize_block(BlockFormat format, const float* values, std::uint8_t* block);

}  // namespace rooftile
