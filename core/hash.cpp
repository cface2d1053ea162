#include "core/hash.h"

#define XXH_INLINE_ALL
#include <fmt/format.h>
#include <xxhash.h>

namespace rooftile {

std::string hash_hex(std::string_view bytes) {
  const XXH128_hash_t h = XXH3_128bits(bytes.data(), bytes.size());
  return fmt::format("{:016x}{:016x}", h.high64, h.low64);
}

std::string hash_hex(std::span<const std::uint32_t> words) {
  return hash_hex(
      std::string_view(reinterpret_cast<const char*>(words.data()), words.size_bytes()));
}

}  // namespace rooftile
