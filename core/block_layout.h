// Formats that quantise a matrix in blocks of consecutive elements, each with its scales among its
// bytes, as GGUF files hold them. Layouts: ggml-common.h of ggml-org/ggml.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace rooftile {

/// kSeparate: values, scales and zero points lie in buffers of their own (Quantization in
/// core/types.h).
enum class BlockFormat : std::uint8_t {
  kSeparate,
  kQ4_0,
  kQ5_0,
  kQ8_0,
  kQ4_K,
  kQ5_K,
  kQ6_K,
  kMxfp4
};

struct BlockLayout {
  BlockFormat format;
  std::string_view name;  ///< "q4_k", as in the texts of types.
  int elements, bytes;    ///< Of a block.
  int bits;               ///< Of a stored value.
};

/// All formats but kSeparate, in the order of the enumeration.
std::span<const BlockLayout> block_layouts();
/// format: not kSeparate.
const BlockLayout& layout_of(BlockFormat format);

/// Elements that share a scale in every format.
inline constexpr int kGroup = 16;

}  // namespace rooftile
