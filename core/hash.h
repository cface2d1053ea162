#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace rooftile {

/// 128-bit XXH3 of the bytes as 32 hex digits: identities and checksums, never security.
std::string hash_hex(std::string_view bytes);
std::string hash_hex(std::span<const std::uint32_t> words);

}  // namespace rooftile
