// Writes GGUF files of one tensor.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include "gguf/blocks.h"

namespace rooftile {

/// Everything of a file of version 3 before the tensor's blocks, which follow at once: n rows of k
/// elements.
std::vector<std::uint8_t> gguf_header(std::string_view tensor, GgufFormat format, std::int64_t n,
                                      std::int64_t k);
/// What follows so many bytes of blocks, up to the alignment: ggml refuses to load a file without.
std::vector<std::uint8_t> gguf_padding(std::size_t bytes);

/// format: not kSeparate.
GgufFormat gguf_format(BlockFormat format);

}  // namespace rooftile
