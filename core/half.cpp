#include "core/half.h"

#include <bit>
#include <cstring>

namespace rooftile {
namespace {

constexpr std::uint32_t kSign = 0x80000000u, kInfinity = 0x7f800000u;

const std::uint16_t* words(const void* elements) {
  return static_cast<const std::uint16_t*>(elements);
}

}  // namespace

// GCC's and Clang's own half type converts as the standard asks, with F16C where the build has it.
float from_f16(std::uint16_t bits) { return static_cast<float>(std::bit_cast<_Float16>(bits)); }
std::uint16_t to_f16(float x) { return std::bit_cast<std::uint16_t>(static_cast<_Float16>(x)); }

float from_bf16(std::uint16_t bits) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16);
}

std::uint16_t to_bf16(float x) {
  const auto bits = std::bit_cast<std::uint32_t>(x);
  // A NaN whose payload lies in the lower half alone must not become an infinity.
  if ((bits & ~kSign) > kInfinity) return static_cast<std::uint16_t>(bits >> 16 | 0x40);
  const std::uint32_t to_even = 0x7fff + (bits >> 16 & 1);
  return static_cast<std::uint16_t>((bits + to_even) >> 16);
}

void widen(DataType type, const void* elements, float* values, std::int64_t count) {
  switch (type) {
    case DataType::kF32:
      std::memcpy(values, elements, static_cast<std::size_t>(count) * sizeof(float));
      return;
    case DataType::kF16:
      for (std::int64_t i = 0; i < count; ++i) values[i] = from_f16(words(elements)[i]);
      return;
    case DataType::kBf16:
      for (std::int64_t i = 0; i < count; ++i) values[i] = from_bf16(words(elements)[i]);
      return;
  }
}

void narrow(DataType type, const float* values, void* elements, std::int64_t count) {
  auto* const target = static_cast<std::uint16_t*>(elements);
  switch (type) {
    case DataType::kF32:
      std::memcpy(elements, values, static_cast<std::size_t>(count) * sizeof(float));
      return;
    case DataType::kF16:
      for (std::int64_t i = 0; i < count; ++i) target[i] = to_f16(values[i]);
      return;
    case DataType::kBf16:
      for (std::int64_t i = 0; i < count; ++i) target[i] = to_bf16(values[i]);
      return;
  }
}

float element(DataType type, const void* elements, std::int64_t index) {
  switch (type) {
    case DataType::kF16:
      return from_f16(words(elements)[index]);
    case DataType::kBf16:
      return from_bf16(words(elements)[index]);
    default:
      return static_cast<const float*>(elements)[index];
  }
}

}  // namespace rooftile
