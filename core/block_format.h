// What the elements of a block of a quantised matrix stand for, and how a block is made.
#pragma once

#include <array>
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

/// Bound of the magnitudes of a block's elements, from its scales alone: NaN or infinite where one
/// of them is.
double largest_weight_of_block(BlockFormat format, const std::uint8_t* block);

/// Writes the elements of `count` blocks that follow each other.
void dequantize_blocks(BlockFormat format, const std::uint8_t* blocks, std::int64_t count,
                       float* values);

/// The block whose elements are nearest to these, as far as a scale for each group that holds the
/// group's range tells. values: layout_of(format).elements finite numbers; beyond what the format's
/// scales reach, they are held to the largest.
void quantize_block(BlockFormat format, const float* values, std::uint8_t* block);

}  // namespace rooftile
