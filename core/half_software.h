// float16 by integer arithmetic, for compilers that have no such type (WebAssembly).
#pragma once

#include <bit>
#include <cstdint>

namespace rooftile {

/// Rounds to the nearest float16, to even on a tie; the same bits as a cast, but for a NaN's
/// payload.
inline std::uint16_t to_f16_software(float x) {
  constexpr std::uint32_t kInfinityF32 = 0x7f800000, kOverflow = 0x477ff000;  // 65520
  constexpr std::uint32_t kSmallestNormal = 0x38800000;                       // 2^-14
  // In a float of this magnitude (0.5) the last bit is the smallest denormal of float16.
  constexpr std::uint32_t kHalf = 0x3f000000;
  const auto all = std::bit_cast<std::uint32_t>(x);
  const auto sign = static_cast<std::uint16_t>(all >> 16 & 0x8000);
  std::uint32_t bits = all & 0x7fffffff;
  if (bits > kInfinityF32)
    bits = 0x7e00;
  else if (bits >= kOverflow)
    bits = 0x7c00;
  else if (bits < kSmallestNormal)
    bits = std::bit_cast<std::uint32_t>(std::bit_cast<float>(bits) + 0.5f) - kHalf;
  else
    bits = (bits - ((127 - 15) << 23) + 0xfff + (bits >> 13 & 1)) >> 13;
  return static_cast<std::uint16_t>(sign | bits);
}

inline float from_f16_software(std::uint16_t half) {
  const std::uint32_t sign = static_cast<std::uint32_t>(half & 0x8000) << 16,
                      magnitude = half & 0x7fff;
  constexpr float kSmallestDenormal = 0x1p-24f;
  if (magnitude < 0x400)
    return std::bit_cast<float>(
        sign | std::bit_cast<std::uint32_t>(static_cast<float>(magnitude) * kSmallestDenormal));
  const std::uint32_t exponent = magnitude >= 0x7c00 ? 255 - 31 : 127 - 15;
  return std::bit_cast<float>(sign | ((magnitude << 13) + (exponent << 23)));
}

}  // namespace rooftile
