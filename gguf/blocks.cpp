#include "gguf/blocks.h"

#include <algorithm>
#include <bit>
#include <iterator>

#include "core/block_format.h"
#include "core/half.h"

namespace rooftile {
namespace {

constexpr GgufBlock kBlocks[] = {
    {GgufFormat::kF32, "F32", 1, 4},       {GgufFormat::kF16, "F16", 1, 2},
    {GgufFormat::kQ4_0, "Q4_0", 32, 18},   {GgufFormat::kQ5_0, "Q5_0", 32, 22},
    {GgufFormat::kQ8_0, "Q8_0", 32, 34},   {GgufFormat::kQ4_K, "Q4_K", 256, 144},
    {GgufFormat::kQ5_K, "Q5_K", 256, 176}, {GgufFormat::kQ6_K, "Q6_K", 256, 210},
    {GgufFormat::kBf16, "BF16", 1, 2},     {GgufFormat::kMxfp4, "MXFP4", 32, 17}};

// By number; empty where numbers are not in use any more.
constexpr std::string_view kNames[] = {
    "F32",     "F16",    "Q4_0",    "Q4_1",  "",       "",      "Q5_0",  "Q5_1",
    "Q8_0",    "Q8_1",   "Q2_K",    "Q3_K",  "Q4_K",   "Q5_K",  "Q6_K",  "Q8_K",
    "IQ2_XXS", "IQ2_XS", "IQ3_XXS", "IQ1_S", "IQ4_NL", "IQ3_S", "IQ2_S", "IQ4_XS",
    "I8",      "I16",    "I32",     "I64",   "F64",    "IQ1_M", "BF16",  "",
    "",        "",       "TQ1_0",   "TQ2_0", "",       "",      "",      "MXFP4"};

float float_at(GgufFormat format, const std::uint8_t* bytes) {
  const auto half = static_cast<std::uint16_t>(bytes[0] | bytes[1] << 8);
  if (format == GgufFormat::kF16) return from_f16(half);
  if (format == GgufFormat::kBf16) return from_bf16(half);
  return std::bit_cast<float>(half | static_cast<std::uint32_t>(bytes[2] | bytes[3] << 8) << 16);
}

}  // namespace

std::optional<GgufBlock> gguf_block(std::uint32_t format) {
  for (const GgufBlock& block : kBlocks)
    if (static_cast<std::uint32_t>(block.format) == format) return block;
  return std::nullopt;
}

BlockFormat block_format(GgufFormat format) {
  switch (format) {
    case GgufFormat::kQ4_0:
      return BlockFormat::kQ4_0;
    case GgufFormat::kQ5_0:
      return BlockFormat::kQ5_0;
    case GgufFormat::kQ8_0:
      return BlockFormat::kQ8_0;
    case GgufFormat::kQ4_K:
      return BlockFormat::kQ4_K;
    case GgufFormat::kQ5_K:
      return BlockFormat::kQ5_K;
    case GgufFormat::kQ6_K:
      return BlockFormat::kQ6_K;
    case GgufFormat::kMxfp4:
      return BlockFormat::kMxfp4;
    default:
      return BlockFormat::kSeparate;
  }
}

std::string_view gguf_format_name(std::uint32_t format) {
  return format < std::size(kNames) ? kNames[format] : std::string_view();
}

void dequantize(GgufFormat format, std::span<const std::uint8_t> blocks, std::span<float> values) {
  const GgufBlock block = *gguf_block(static_cast<std::uint32_t>(format));
  const auto elements = static_cast<std::size_t>(block.elements);
  const auto bytes = static_cast<std::size_t>(block.bytes);
  const std::size_t count = std::min(blocks.size() / bytes, values.size() / elements);
  if (block_format(format) != BlockFormat::kSeparate)
    return dequantize_blocks(block_format(format), blocks.data(), static_cast<std::int64_t>(count),
                             values.data());
  for (std::size_t i = 0; i < count; ++i) values[i] = float_at(format, &blocks[i * bytes]);
}

}  // namespace rooftile
