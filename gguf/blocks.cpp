#include "gguf/blocks.h"

#include <algorithm>
#include <bit>
#include <iterator>

#include "core/block_format.h"
#include "core/half.h"

namespace rooftile {
namespace {

struct GgmlFormat {
  std::string_view name;
  int elements, bytes;  ///< Of a block; 0 where ggml does not read the format any more.
};

// By number in files: enum ggml_type, August 2026.
constexpr GgmlFormat kFormats[] = {
    {"F32", 1, 4},        {"F16", 1, 2},        {"Q4_0", 32, 18},     {"Q4_1", 32, 20},
    {"Q4_2", 0, 0},       {"Q4_3", 0, 0},       {"Q5_0", 32, 22},     {"Q5_1", 32, 24},
    {"Q8_0", 32, 34},     {"Q8_1", 32, 36},     {"Q2_K", 256, 84},    {"Q3_K", 256, 110},
    {"Q4_K", 256, 144},   {"Q5_K", 256, 176},   {"Q6_K", 256, 210},   {"Q8_K", 256, 292},
    {"IQ2_XXS", 256, 66}, {"IQ2_XS", 256, 74},  {"IQ3_XXS", 256, 98}, {"IQ1_S", 256, 50},
    {"IQ4_NL", 32, 18},   {"IQ3_S", 256, 110},  {"IQ2_S", 256, 82},   {"IQ4_XS", 256, 136},
    {"I8", 1, 1},         {"I16", 1, 2},        {"I32", 1, 4},        {"I64", 1, 8},
    {"F64", 1, 8},        {"IQ1_M", 256, 56},   {"BF16", 1, 2},       {"Q4_0_4_4", 0, 0},
    {"Q4_0_4_8", 0, 0},   {"Q4_0_8_8", 0, 0},   {"TQ1_0", 256, 54},   {"TQ2_0", 256, 66},
    {"IQ4_NL_4_4", 0, 0}, {"IQ4_NL_4_8", 0, 0}, {"IQ4_NL_8_8", 0, 0}, {"MXFP4", 32, 17},
    {"NVFP4", 64, 36},    {"Q1_0", 128, 18},    {"Q2_0", 64, 18}};

constexpr std::uint32_t kF32 = 0, kF16 = 1, kBf16 = 30;

float float_at(std::uint32_t format, const std::uint8_t* bytes) {
  const auto half = static_cast<std::uint16_t>(bytes[0] | bytes[1] << 8);
  if (format == kF16) return from_f16(half);
  if (format == kBf16) return from_bf16(half);
  return std::bit_cast<float>(half | static_cast<std::uint32_t>(bytes[2] | bytes[3] << 8) << 16);
}

}  // namespace

std::optional<GgufBlock> ggml_block(std::uint32_t format) {
  if (format >= std::size(kFormats) || kFormats[format].elements == 0) return std::nullopt;
  const GgmlFormat& known = kFormats[format];
  return GgufBlock{known.name, known.elements, known.bytes};
}

std::optional<GgufBlock> gguf_block(std::uint32_t format) {
  const bool floats = format == kF32 || format == kF16 || format == kBf16;
  return floats || block_format(format) != BlockFormat::kSeparate ? ggml_block(format)
                                                                  : std::nullopt;
}

BlockFormat block_format(std::uint32_t format) {
  for (const BlockLayout& layout : block_layouts())
    if (layout.number == format) return layout.format;
  return BlockFormat::kSeparate;
}

std::string_view gguf_format_name(std::uint32_t format) {
  return format < std::size(kFormats) ? kFormats[format].name : std::string_view();
}

void dequantize(std::uint32_t format, std::span<const std::uint8_t> blocks,
                std::span<float> values) {
  const GgufBlock block = *gguf_block(format);
  const auto elements = static_cast<std::size_t>(block.elements);
  const auto bytes = static_cast<std::size_t>(block.bytes);
  const std::size_t count = std::min(blocks.size() / bytes, values.size() / elements);
  if (block_format(format) != BlockFormat::kSeparate)
    return dequantize_blocks(block_format(format), blocks.data(), static_cast<std::int64_t>(count),
                             values.data());
  for (std::size_t i = 0; i < count; ++i) values[i] = float_at(format, &blocks[i * bytes]);
}

}  // namespace rooftile
