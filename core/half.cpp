#include "core/half.h"

#if defined(__x86_64__)
#include <cpuid.h>
#include <immintrin.h>
#endif

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#include "core/half_software.h"

namespace rooftile {
namespace {

// float16 as the compiler has it, where it has it.
#if defined(__aarch64__)
#define ROOFTILE_HAS_HALF_TYPE
using HalfType = __fp16;  // of the same format; GCC 12 has no _Float16 in C++ on arm64
#elif defined(__FLT16_MANT_DIG__)
#define ROOFTILE_HAS_HALF_TYPE
using HalfType = _Float16;
#endif

constexpr std::uint32_t kSign = 0x80000000u, kInfinity = 0x7f800000u;

// GCC's and Clang's own half type converts as the standard asks, but one element at a time. This
// converts eight at a time where the processor can. It does not use target_clones, whose resolvers
// crash under the sanitizers.
void widen_f16(const std::uint16_t* halves, float* values, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) values[i] = from_f16(halves[i]);
}
void narrow_f16(const float* values, std::uint16_t* halves, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) halves[i] = to_f16(values[i]);
}

#if defined(__x86_64__)
__attribute__((target("avx,f16c"))) void widen_f16_by_eight(const std::uint16_t* halves,
                                                            float* values, std::int64_t count) {
  std::int64_t i = 0;
  for (; i + 8 <= count; i += 8)
    _mm256_storeu_ps(
        values + i, _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(halves + i))));
  widen_f16(halves + i, values + i, count - i);
}
__attribute__((target("avx,f16c"))) void narrow_f16_by_eight(const float* values,
                                                             std::uint16_t* halves,
                                                             std::int64_t count) {
  std::int64_t i = 0;
  for (; i + 8 <= count; i += 8)
    _mm_storeu_si128(reinterpret_cast<__m128i*>(halves + i),
                     _mm256_cvtps_ph(_mm256_loadu_ps(values + i), _MM_FROUND_TO_NEAREST_INT));
  narrow_f16(values + i, halves + i, count - i);
}
bool has_f16c() {
  // Clang 14 knows no name of F16C. AVX is asked for by name, because that tells of the system too.
  static const bool has = [] {
    unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;
    return __builtin_cpu_supports("avx") != 0 && __get_cpuid(1, &eax, &ebx, &ecx, &edx) != 0 &&
           (ecx & bit_F16C) != 0;
  }();
  return has;
}
#endif

template <typename Integer>
void widen_integers(const Integer* integers, float* values, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) values[i] = static_cast<float>(integers[i]);
}
template <typename Integer>
void narrow_integers(const float* values, Integer* integers, std::int64_t count) {
  constexpr double kLow = std::numeric_limits<Integer>::min(),
                   kHigh = std::numeric_limits<Integer>::max();
  for (std::int64_t i = 0; i < count; ++i) {
    const double x = std::nearbyint(static_cast<double>(values[i]));
    integers[i] = std::isnan(x) ? Integer{0} : static_cast<Integer>(std::clamp(x, kLow, kHigh));
  }
}

/// Rounds to float32 so that a second rounding, to a type of at most 22 bits, gives what one
/// rounding gives: to odd (Boldo and Melquiond, "Emulation of FMA and correctly rounded sums:
/// proved algorithms using rounding to odd", 2008). What float32 does not hold becomes the
/// neighbour whose last bit is 1, so it is never taken for a tie.
float rounded_to_odd(double x) {
  const auto nearest = static_cast<float>(x);
  if (std::isnan(x) || static_cast<double>(nearest) == x) return nearest;
  auto bits = std::bit_cast<std::uint32_t>(nearest);
  if (std::abs(static_cast<double>(nearest)) > std::abs(x)) --bits;  // towards 0
  return std::bit_cast<float>(bits | 1);
}

const std::uint16_t* words(const void* elements) {
  return static_cast<const std::uint16_t*>(elements);
}

}  // namespace

#ifdef ROOFTILE_HAS_HALF_TYPE
float from_f16(std::uint16_t bits) { return static_cast<float>(std::bit_cast<HalfType>(bits)); }
std::uint16_t to_f16(float x) { return std::bit_cast<std::uint16_t>(static_cast<HalfType>(x)); }
#else
float from_f16(std::uint16_t bits) { return from_f16_software(bits); }
std::uint16_t to_f16(float x) { return to_f16_software(x); }
#endif

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
    case DataType::kF64:
      std::transform(static_cast<const double*>(elements),
                     static_cast<const double*>(elements) + count, values,
                     [](double x) { return static_cast<float>(x); });
      return;
    case DataType::kF32:
      if (count > 0)  // else there may be no memory
        std::memcpy(values, elements, static_cast<std::size_t>(count) * sizeof(float));
      return;
    case DataType::kF16:
#if defined(__x86_64__)
      if (has_f16c()) return widen_f16_by_eight(words(elements), values, count);
#endif
      return widen_f16(words(elements), values, count);
    case DataType::kBf16:
      for (std::int64_t i = 0; i < count; ++i) values[i] = from_bf16(words(elements)[i]);
      return;
    case DataType::kI8:
      return widen_integers(static_cast<const std::int8_t*>(elements), values, count);
    case DataType::kU8:
      return widen_integers(static_cast<const std::uint8_t*>(elements), values, count);
    case DataType::kI32:
      return widen_integers(static_cast<const std::int32_t*>(elements), values, count);
  }
}

void narrow(DataType type, const float* values, void* elements, std::int64_t count) {
  auto* const target = static_cast<std::uint16_t*>(elements);
  switch (type) {
    case DataType::kF64:
      std::copy_n(values, count, static_cast<double*>(elements));
      return;
    case DataType::kF32:
      if (count > 0)  // else there may be no memory
        std::memcpy(elements, values, static_cast<std::size_t>(count) * sizeof(float));
      return;
    case DataType::kF16:
#if defined(__x86_64__)
      if (has_f16c()) return narrow_f16_by_eight(values, target, count);
#endif
      return narrow_f16(values, target, count);
    case DataType::kBf16:
      for (std::int64_t i = 0; i < count; ++i) target[i] = to_bf16(values[i]);
      return;
    case DataType::kI8:
      return narrow_integers(values, static_cast<std::int8_t*>(elements), count);
    case DataType::kU8:
      return narrow_integers(values, static_cast<std::uint8_t*>(elements), count);
    case DataType::kI32:
      return narrow_integers(values, static_cast<std::int32_t*>(elements), count);
  }
}

namespace {

constexpr std::int64_t kChunk = 1024;  // elements that pass through float32 at a time

}  // namespace

void narrow(DataType type, const double* values, void* elements, std::int64_t count) {
  if (type == DataType::kF64) {
    std::copy_n(values, count, static_cast<double*>(elements));
    return;
  }
  if (type == DataType::kF32) {
    std::transform(values, values + count, static_cast<float*>(elements),
                   [](double x) { return static_cast<float>(x); });
    return;
  }
  std::array<float, kChunk> chunk;
  for (std::int64_t begin = 0; begin < count; begin += kChunk) {
    const std::int64_t part = std::min(kChunk, count - begin);
    std::transform(values + begin, values + begin + part, chunk.begin(), rounded_to_odd);
    narrow(type, chunk.data(), static_cast<char*>(elements) + begin * bytes_of(type), part);
  }
}

void widen(DataType type, const void* elements, double* values, std::int64_t count) {
  if (type == DataType::kF32) {
    std::copy_n(static_cast<const float*>(elements), count, values);
    return;
  }
  if (type == DataType::kI32) {
    std::copy_n(static_cast<const std::int32_t*>(elements), count, values);
    return;
  }
  if (type == DataType::kF64) {
    std::copy_n(static_cast<const double*>(elements), count, values);
    return;
  }
  std::array<float, kChunk> chunk;
  for (std::int64_t begin = 0; begin < count; begin += kChunk) {
    const std::int64_t part = std::min(kChunk, count - begin);
    widen(type, static_cast<const char*>(elements) + begin * bytes_of(type), chunk.data(), part);
    std::copy_n(chunk.begin(), part, values + begin);
  }
}

double element(DataType type, const void* elements, std::int64_t index) {
  switch (type) {
    case DataType::kF16:
      return static_cast<double>(from_f16(words(elements)[index]));
    case DataType::kBf16:
      return static_cast<double>(from_bf16(words(elements)[index]));
    case DataType::kI8:
      return static_cast<double>(static_cast<const std::int8_t*>(elements)[index]);
    case DataType::kU8:
      return static_cast<double>(static_cast<const std::uint8_t*>(elements)[index]);
    case DataType::kI32:
      return static_cast<double>(static_cast<const std::int32_t*>(elements)[index]);
    case DataType::kF64:
      return static_cast<const double*>(elements)[index];
    case DataType::kF32:
      break;
  }
  return static_cast<double>(static_cast<const float*>(elements)[index]);
}

}  // namespace rooftile
