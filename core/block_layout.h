// Formats that quantise a matrix in blocks of consecutive elements, each with its scales among its
// bytes, as GGUF files hold them. Layouts: ggml-common.h of ggml-org/ggml.
#pragma once

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <span>
#include <string_view>

namespace rooftile {

/// kSeparate: values, scales and zero points lie in buffers of their own (Quantization in
/// core/types.h). Numbers are those of rooftile_block_format.
enum class BlockFormat : std::uint8_t {
  kSeparate,
  kQ4_0,
  kQ5_0,
  kQ8_0,
  kQ4_K,
  kQ5_K,
  kQ6_K,
  kMxfp4,
  kQ4_1,
  kQ5_1,
  kQ2_K,
  kQ3_K,
  kIq4Nl,
  kIq4Xs,
  kNvfp4
};

/// Where a block holds bits of its elements: those of element i lie in byte
/// first + i / span * width + i % width, from bit i % span / width * bits on, where span is
/// 8 / bits * width, the elements that fill width bytes. With {16, 4, 32} the first 32 elements lie
/// in the lower halves of bytes 16 to 47, the next 32 in the upper ones, and so on from byte 48.
struct BlockBits {
  int first, bits, width;  ///< bits 0: there are none.

  constexpr int span() const { return 8 / bits * width; }
};

/// The meaning of an element's bits: an integer minus the zero point, an int8, a float of 4 bits
/// (E2M1 of the OCP Microscaling Formats), or an entry of the table of ggml's IQ4_NL.
enum class BlockCode : std::uint8_t { kInteger, kInt8, kE2m1, kIq4 };

struct BlockLayout {
  BlockFormat format;
  std::string_view name;  ///< "q4_k", as in the texts of types.
  std::uint32_t number;   ///< In GGUF files.
  int elements, bytes;    ///< Of a block.
  int scaled;             ///< Elements that share a scale: kGroup or twice as many.
  bool minimum;           ///< Whether they share a minimum, too. One that ggml adds is negated.
  BlockCode code;
  int zero_point;       ///< Of kInteger; 0 for others.
  BlockBits low, high;  ///< The lower bits of all elements, and the upper ones.

  constexpr int bits() const { return low.bits + high.bits; }
};

/// All formats but kSeparate, in the order of the enumeration. What their scales are, and where
/// they lie, is code: core/block_format.cpp, and group_scale() of templates/load/blocks.glsl.
inline constexpr BlockLayout kBlockLayouts[] = {
    // clang-format off
    {BlockFormat::kQ4_0,  "q4_0",    2,  32,  18, 32, false, BlockCode::kInteger,  8, {2, 4, 16},  {0, 0, 0}},
    {BlockFormat::kQ5_0,  "q5_0",    6,  32,  22, 32, false, BlockCode::kInteger, 16, {6, 4, 16},  {2, 1, 1}},
    {BlockFormat::kQ8_0,  "q8_0",    8,  32,  34, 32, false, BlockCode::kInt8,     0, {2, 8, 16},  {0, 0, 0}},
    {BlockFormat::kQ4_K,  "q4_k",   12, 256, 144, 32, true,  BlockCode::kInteger,  0, {16, 4, 32}, {0, 0, 0}},
    {BlockFormat::kQ5_K,  "q5_k",   13, 256, 176, 32, true,  BlockCode::kInteger,  0, {48, 4, 32}, {16, 1, 32}},
    {BlockFormat::kQ6_K,  "q6_k",   14, 256, 210, 16, false, BlockCode::kInteger, 32, {0, 4, 64},  {128, 2, 32}},
    {BlockFormat::kMxfp4, "mxfp4",  39,  32,  17, 32, false, BlockCode::kE2m1,     0, {1, 4, 16},  {0, 0, 0}},
    {BlockFormat::kQ4_1,  "q4_1",    3,  32,  20, 32, true,  BlockCode::kInteger,  0, {4, 4, 16},  {0, 0, 0}},
    {BlockFormat::kQ5_1,  "q5_1",    7,  32,  24, 32, true,  BlockCode::kInteger,  0, {8, 4, 16},  {4, 1, 1}},
    {BlockFormat::kQ2_K,  "q2_k",   10, 256,  84, 16, true,  BlockCode::kInteger,  0, {16, 2, 32}, {0, 0, 0}},
    {BlockFormat::kQ3_K,  "q3_k",   11, 256, 110, 16, false, BlockCode::kInteger,  4, {32, 2, 32}, {0, 1, 32}},
    {BlockFormat::kIq4Nl, "iq4_nl", 20,  32,  18, 32, false, BlockCode::kIq4,      0, {2, 4, 16},  {0, 0, 0}},
    {BlockFormat::kIq4Xs, "iq4_xs", 23, 256, 136, 32, false, BlockCode::kIq4,      0, {8, 4, 16},  {0, 0, 0}},
    {BlockFormat::kNvfp4, "nvfp4",  40,  64,  36, 16, false, BlockCode::kE2m1,     0, {4, 4, 8},   {0, 0, 0}},
    // clang-format on
};

constexpr bool are_in_order() {
  for (std::size_t i = 0; i < std::size(kBlockLayouts); ++i)
    if (static_cast<std::size_t>(kBlockLayouts[i].format) != i + 1) return false;
  return true;
}
static_assert(are_in_order());

inline std::span<const BlockLayout> block_layouts() { return kBlockLayouts; }
/// format: not kSeparate.
constexpr const BlockLayout& layout_of(BlockFormat format) {
  return kBlockLayouts[static_cast<std::size_t>(format) - 1];
}

/// Elements that share a scale in every format.
inline constexpr int kGroup = 16;

}  // namespace rooftile
