#include "embed/packed_code.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <string_view>
#include <unordered_map>

#include "core/spirv_words.h"

namespace rooftile {
namespace {

// unpack.h has the same numbers.
constexpr std::size_t kKinds = 512, kPlaces = 8, kLeastMatch = 4;
// Earlier places that are tried for a repetition; twice as many save 1 %.
constexpr std::size_t kTried = 32;

void put(std::string& bytes, std::uint32_t value) {
  for (; value >= 128; value >>= 7) bytes += static_cast<char>((value & 127) | 128);
  bytes += static_cast<char>(value);
}

/// Small numbers of either sign become small ones.
std::uint32_t folded(std::uint32_t difference) {
  const bool negative = (difference >> 31) != 0;
  return negative ? ~(difference << 1) : difference << 1;
}

void put_differences(std::string& bytes, const std::vector<std::uint32_t>& module) {
  std::vector<std::uint32_t> last(kKinds * kPlaces);
  for (std::size_t i = 0; i < kSpirvHeaderWords; ++i) put(bytes, module[i]);
  for_each_spirv_instruction(module, [&](SpirvWords x) {
    put(bytes, spirv_opcode(x));
    put(bytes, static_cast<std::uint32_t>(x.size()));
    for (std::size_t i = 1; i < x.size(); ++i) {
      std::uint32_t& before = last[spirv_opcode(x) % kKinds * kPlaces + std::min(i, kPlaces - 1)];
      put(bytes, folded(x[i] - before));
      before = x[i];
    }
  });
}

std::uint32_t key_at(std::string_view text, std::size_t at) {
  std::uint32_t key = 0;
  std::memcpy(&key, text.data() + at, sizeof key);
  return key;
}

std::size_t common_length(std::string_view text, std::size_t x, std::size_t y) {
  std::size_t length = 0;
  while (y + length < text.size() && text[x + length] == text[y + length]) ++length;
  return length;
}

/// Alternating: a number of bytes and these, then length and distance of a repetition.
std::string without_repetitions(std::string_view text) {
  std::string bytes;
  std::unordered_map<std::uint32_t, std::vector<std::size_t>> places;
  std::size_t begin = 0, at = 0;  // Of bytes that are not written yet.
  const auto note = [&](std::size_t place) {
    if (place + kLeastMatch <= text.size()) places[key_at(text, place)].push_back(place);
  };
  while (at + kLeastMatch <= text.size()) {
    const std::vector<std::size_t>& known = places[key_at(text, at)];
    std::size_t longest = 0, place = 0;
    for (std::size_t i = 0; i < std::min(kTried, known.size()); ++i) {
      const std::size_t from = known[known.size() - 1 - i], length = common_length(text, from, at);
      if (length > longest) {
        longest = length;
        place = from;
      }
    }
    if (longest < kLeastMatch + 1) {
      note(at++);
      continue;
    }
    put(bytes, static_cast<std::uint32_t>(at - begin));
    bytes += text.substr(begin, at - begin);
    put(bytes, static_cast<std::uint32_t>(longest - kLeastMatch));
    put(bytes, static_cast<std::uint32_t>(at - place));
    for (const std::size_t end = at + longest; at < end; ++at) note(at);
    begin = at;
  }
  put(bytes, static_cast<std::uint32_t>(text.size() - begin));
  bytes += text.substr(begin);
  return bytes;
}

}  // namespace

PackedCode packed_code(const std::vector<EmbeddedShader>& shaders) {
  PackedCode packed;
  std::string differences;
  for (const EmbeddedShader& shader : shaders) {
    packed.first.push_back(differences.size());
    put_differences(differences, shader.code);
  }
  packed.unpacked = differences.size();
  packed.bytes = without_repetitions(differences);
  return packed;
}

}  // namespace rooftile
