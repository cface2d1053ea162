// Formats of GGUF tensors: how many elements lie in a block of how many bytes, and which float32
// values they stand for. Layouts: ggml-common.h and docs/gguf.md of ggml-org/ggml.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "core/block_layout.h"

namespace rooftile {

/// Formats that can be dequantised, by their number in files.
enum class GgufFormat : std::uint32_t {
  kF32 = 0,
  kF16 = 1,
  kQ4_0 = 2,
  kQ5_0 = 6,
  kQ8_0 = 8,
  kQ4_K = 12,
  kQ5_K = 13,
  kQ6_K = 14,
  kBf16 = 30,
  kMxfp4 = 39
};

struct GgufBlock {
  GgufFormat format;
  std::string_view name;  ///< As ggml writes it: "Q4_K".
  std::int64_t elements;  ///< Of a block; consecutive elements of a row.
  std::int64_t bytes;
};

/// No value for a number that is no format of GgufFormat.
std::optional<GgufBlock> gguf_block(std::uint32_t format);
/// The same for every format that ggml has, also those that are not in GgufFormat.
std::optional<GgufBlock> ggml_block(std::uint32_t format);

/// kSeparate for a format whose elements are floats.
BlockFormat block_format(GgufFormat format);

/// Name of any format that ggml has or had: "IQ2_XS"; "format 77" is left to the caller (empty).
std::string_view gguf_format_name(std::uint32_t format);

/// values has blocks.size() / bytes * elements elements. Every bit pattern stands for some value;
/// scales that are infinite or NaN give such values.
void dequantize(GgufFormat format, std::span<const std::uint8_t> blocks, std::span<float> values);

}  // namespace rooftile
