// The tensors of a GGUF file, versions 2 and 3, little-endian.
// https://github.com/ggml-org/ggml/blob/master/docs/gguf.md
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "gguf/blocks.h"

namespace rooftile {

struct GgufTensor {
  std::string name;
  std::uint32_t format = 0;         ///< gguf_block() knows those that can be dequantised.
  std::vector<std::int64_t> sizes;  ///< Rows first: the last one counts the elements of a row.
  /// Within the file, behind the tensor before. bytes is 0 for a format that ggml_block() does not
  /// know, which only the last tensor may have.
  std::uint64_t offset_bytes = 0, bytes = 0;

  std::int64_t row() const { return sizes.empty() ? 1 : sizes.back(); }
  std::int64_t rows() const;  ///< Product of all sizes but the last.
};

/// Text for people: "Q4_K", "format 77".
std::string format_text(const GgufTensor& tensor);

/// bytes: the whole file. name: for messages. Errors: kIo (no GGUF file, cut short, damaged, or
/// refused by ggml: a tensor that lies elsewhere, two equal keys, a name of 64 bytes), kUnsupported
/// (another version or byte order). Time and memory are proportional to the bytes.
std::vector<GgufTensor> parse_gguf(std::span<const std::uint8_t> bytes, std::string_view name);

}  // namespace rooftile
