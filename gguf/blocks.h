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

/// A format of ggml, which files name by a number.
struct GgufBlock {
  std::string_view name;  ///< As ggml writes it: "Q4_K".
  std::int64_t elements;  ///< Of a block; consecutive elements of a row.
  std::int64_t bytes;
};

/// No value for a number that is no format that dequantize() reads.
std::optional<GgufBlock> gguf_block(std::uint32_t format);
/// The same for every format that ggml has.
std::optional<GgufBlock> ggml_block(std::uint32_t format);

/// kSeparate for a format whose elements are floats, and for one that is not read.
BlockFormat block_format(std::uint32_t format);

/// Name of any format that ggml has or had: "IQ2_XS"; "format 77" is left to the caller (empty).
std::string_view gguf_format_name(std::uint32_t format);

/// format: one that gguf_block() knows. values has blocks.size() / bytes * elements elements. Every
/// bit pattern stands for some value; scales that are infinite or NaN give such values.
void dequantize(std::uint32_t format, std::span<const std::uint8_t> blocks,
                std::span<float> values);

}  // namespace rooftile
