// Quantises matrices to blocks that hold their own scales (core/block_layout.h).
#pragma once

#include <cstdint>

#include "core/block_layout.h"

namespace rooftile {

/// The weights that a block can hold: from lowest to highest, and at most `widest` apart, with zero
/// among them.
struct BlockReach {
  double lowest, highest, widest;
};
BlockReach reach_of(BlockFormat format);

/// Quantises layout_of(format).elements finite numbers within reach_of(format). Each group gets a
/// scale for its range, and each value becomes the nearest step of it. Scales are rounded away from
/// zero, so that steps reach all values, however small these are; where a group's scale is a
/// multiple of the block's, and at the side of integers that has one step less, they end at most
/// one and a half steps before. IQ4_NL and IQ4_XS reach 113 on one side where they reach 127 on the
/// other.
void quantize_block(BlockFormat format, const float* values, std::uint8_t* block);

}  // namespace rooftile
