#include "core/block_layout.h"

#include <cstddef>

namespace rooftile {
namespace {

constexpr BlockLayout kLayouts[] = {
    {BlockFormat::kQ4_0, "q4_0", 32, 18, 4},   {BlockFormat::kQ5_0, "q5_0", 32, 22, 5},
    {BlockFormat::kQ8_0, "q8_0", 32, 34, 8},   {BlockFormat::kQ4_K, "q4_k", 256, 144, 4},
    {BlockFormat::kQ5_K, "q5_k", 256, 176, 5}, {BlockFormat::kQ6_K, "q6_k", 256, 210, 6},
    {BlockFormat::kMxfp4, "mxfp4", 32, 17, 4},
};

}  // namespace

std::span<const BlockLayout> block_layouts() { return kLayouts; }

const BlockLayout& layout_of(BlockFormat format) {
  return kLayouts[static_cast<std::size_t>(format) - 1];
}

}  // namespace rooftile
