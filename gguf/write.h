// Writes GGUF files of one tensor.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include "core/block_layout.h"

namespace rooftile {

/// Everything of a file of version 3 before the tensor's blocks, which follow at once: n rows of k
/// elements. format: not kSeparate.
std::vector<std::uint8_t> gguf_header(std::string_view tensor, BlockFormat format, std::int64_t n,
                                      std::int64_t k);
/// What follows so many bytes of blocks, up to the alignment: ggml refuses to load a file without.
std::vector<std::uint8_t> gguf_padding(std::size_t bytes);

}  // namespace rooftile
