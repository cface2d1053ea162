// Dequantises blocks that hold their own scales (core/block_layout.h).
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "core/block_layout.h"

namespace rooftile {

inline constexpr int kMostGroups = 16;  // in a block

/// The scales and the minimums of a block's groups.
struct GroupScales {
  std::array<float, kMostGroups> scales, minimums;
};

/// A block's content: element i stands for values[i] * scales[i / kGroup] - minimums[i / kGroup].
/// Values are integers, with the zero point subtracted, or half integers. The product, and the
/// scale and the minimum themselves, are exact in float32.
struct UnpackedBlock : GroupScales {
  std::array<float, std::size_t{kGroup} * kMostGroups> values;
};

/// block: layout_of(format).bytes bytes. Every pattern is some block; scales may be infinite or
/// NaN.
void unpack_block(BlockFormat format, const std::uint8_t* block, UnpackedBlock& unpacked);

/// The 16-bit floats of a block, of which all its scales and all its minimums are multiples: the
/// bytes at which they lie, or -1; and how many times each of them an element can be. A minimum
/// that is added counts below 0.
struct BlockScales {
  int scale, minimum;
  double most_of_scale, most_of_minimum;
};
BlockScales block_scales(BlockFormat format);

/// Upper bound of the magnitudes of a block's elements. It follows from the block's scales (and
/// their signs) alone, and is NaN or infinite where one of them is.
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

/// The scales and minimums of a block.
void unpack_scales(BlockFormat format, const std::uint8_t* block, GroupScales& unpacked);

/// The values of codes, by their numbers; empty where codes are integers.
std::span<const float> table_of(BlockCode code);

/// The values that elements stand for under a scale of 1.
struct CodeRange {
  int lowest, highest;
};
CodeRange range_of(const BlockLayout& layout);

/// An unsigned float of 4 bits of exponent and 3 of mantissa, as NVFP4's scales are: bit 7 is
/// ignored, and a NaN is 0.
float from_e4m3(std::uint8_t bits);

}  // namespace rooftile
