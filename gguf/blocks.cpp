#include "gguf/blocks.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <iterator>

#include "core/half.h"

namespace rooftile {
namespace {

constexpr GgufBlock kBlocks[] = {
    {GgufFormat::kF32, "F32", 1, 4},       {GgufFormat::kF16, "F16", 1, 2},
    {GgufFormat::kQ4_0, "Q4_0", 32, 18},   {GgufFormat::kQ5_0, "Q5_0", 32, 22},
    {GgufFormat::kQ8_0, "Q8_0", 32, 34},   {GgufFormat::kQ4_K, "Q4_K", 256, 144},
    {GgufFormat::kQ5_K, "Q5_K", 256, 176}, {GgufFormat::kQ6_K, "Q6_K", 256, 210},
    {GgufFormat::kBf16, "BF16", 1, 2},     {GgufFormat::kMxfp4, "MXFP4", 32, 17}};

// By number; empty where numbers are not in use any more.
constexpr std::string_view kNames[] = {
    "F32",     "F16",    "Q4_0",    "Q4_1",  "",       "",      "Q5_0",  "Q5_1",
    "Q8_0",    "Q8_1",   "Q2_K",    "Q3_K",  "Q4_K",   "Q5_K",  "Q6_K",  "Q8_K",
    "IQ2_XXS", "IQ2_XS", "IQ3_XXS", "IQ1_S", "IQ4_NL", "IQ3_S", "IQ2_S", "IQ4_XS",
    "I8",      "I16",    "I32",     "I64",   "F64",    "IQ1_M", "BF16",  "",
    "",        "",       "TQ1_0",   "TQ2_0", "",       "",      "",      "MXFP4"};

constexpr std::size_t kBlock = 32;        // Elements under one scale of the simple formats.
constexpr std::size_t kSuperBlock = 256;  // Elements of a K-quant's block, in parts of kPart.
constexpr std::size_t kPart = 32;

std::uint16_t half_bits(const std::uint8_t* bytes) {
  return static_cast<std::uint16_t>(bytes[0] | bytes[1] << 8);
}

float half_at(const std::uint8_t* bytes) { return from_f16(half_bits(bytes)); }

/// A scale or minimum of a part, 6 bits, of twelve bytes that hold eight of each.
struct PartScale {
  int scale, minimum;
};
PartScale part_scale(const std::uint8_t* packed, std::size_t part) {
  if (part < 4) return {packed[part] & 63, packed[part + 4] & 63};
  return {(packed[part + 4] & 15) | (packed[part - 4] >> 6) << 4,
          (packed[part + 4] >> 4) | (packed[part] >> 6) << 4};
}

void q4_0(const std::uint8_t* block, float* values) {
  const float scale = half_at(block);
  for (std::size_t i = 0; i < kBlock / 2; ++i) {
    const int both = block[2 + i];
    values[i] = scale * static_cast<float>((both & 15) - 8);
    values[i + kBlock / 2] = scale * static_cast<float>((both >> 4) - 8);
  }
}

void q5_0(const std::uint8_t* block, float* values) {
  const float scale = half_at(block);
  std::uint32_t high = 0;
  for (int byte = 0; byte < 4; ++byte)
    high |= static_cast<std::uint32_t>(block[2 + byte]) << 8 * byte;
  for (std::size_t i = 0; i < kBlock; ++i) {
    const int both = block[6 + i % 16];
    const int low = i < 16 ? both & 15 : both >> 4;
    values[i] = scale * static_cast<float>((low | static_cast<int>(high >> i & 1) << 4) - 16);
  }
}

void q8_0(const std::uint8_t* block, float* values) {
  const float scale = half_at(block);
  for (std::size_t i = 0; i < kBlock; ++i)
    values[i] = scale * static_cast<float>(static_cast<std::int8_t>(block[2 + i]));
}

/// Q4_K, and Q5_K with the fifth bits of the elements at `high`: parts of 32 elements, of which two
/// share the bytes of their low bits, under scales and minimums that are scaled themselves.
void q45_k(const std::uint8_t* block, const std::uint8_t* high, const std::uint8_t* low,
           float* values) {
  const float scale = half_at(block), minimum = half_at(block + 2);
  for (std::size_t part = 0; part < kSuperBlock / kPart; ++part) {
    const PartScale own = part_scale(block + 4, part);
    const float step = scale * static_cast<float>(own.scale);
    const float offset = minimum * static_cast<float>(own.minimum);
    for (std::size_t i = 0; i < kPart; ++i) {
      const int both = low[part / 2 * kPart + i];
      int value = part % 2 == 0 ? both & 15 : both >> 4;
      if (high != nullptr) value |= (high[i] >> part & 1) << 4;
      values[part * kPart + i] = step * static_cast<float>(value) - offset;
    }
  }
}

void q6_k(const std::uint8_t* block, float* values) {
  const std::uint8_t* const low = block;         // 128 bytes: four bits an element.
  const std::uint8_t* const high = block + 128;  // 64 bytes: two bits an element.
  const std::uint8_t* const scales = block + 192;
  const float scale = half_at(block + 208);
  for (std::size_t i = 0; i < kSuperBlock; ++i) {
    const std::size_t half = i / 128, quarter = i % 128 / 32, lane = i % 32;
    const int both = low[half * 64 + quarter % 2 * 32 + lane];
    const int bits =
        (quarter < 2 ? both & 15 : both >> 4) | (high[half * 32 + lane] >> 2 * quarter & 3) << 4;
    const float step = scale * static_cast<float>(static_cast<std::int8_t>(scales[i / 16]));
    values[i] = step * static_cast<float>(bits - 32);
  }
}

/// Elements of sign, two bits of exponent and one of mantissa under a power of two (OCP
/// Microscaling Formats 1.0).
void mxfp4(const std::uint8_t* block, float* values) {
  constexpr std::array<float, 8> kMagnitudes = {0, 0.5, 1, 1.5, 2, 3, 4, 6};
  constexpr int kBias = 127, kNan = 255;
  const float scale = block[0] == kNan ? std::nanf("") : std::ldexp(1.0F, block[0] - kBias);
  const auto value = [&](int bits) {
    const float magnitude = kMagnitudes[static_cast<std::size_t>(bits & 7)];
    return scale * (bits < 8 ? magnitude : -magnitude);
  };
  for (std::size_t i = 0; i < kBlock / 2; ++i) {
    values[i] = value(block[1 + i] & 15);
    values[i + kBlock / 2] = value(block[1 + i] >> 4);
  }
}

void block_values(GgufFormat format, const std::uint8_t* block, float* values) {
  switch (format) {
    case GgufFormat::kF32: {
      std::uint32_t bits = 0;
      for (int byte = 0; byte < 4; ++byte)
        bits |= static_cast<std::uint32_t>(block[byte]) << 8 * byte;
      *values = std::bit_cast<float>(bits);
      return;
    }
    case GgufFormat::kF16:
      *values = half_at(block);
      return;
    case GgufFormat::kBf16:
      *values = from_bf16(half_bits(block));
      return;
    case GgufFormat::kQ4_0:
      return q4_0(block, values);
    case GgufFormat::kQ5_0:
      return q5_0(block, values);
    case GgufFormat::kQ8_0:
      return q8_0(block, values);
    case GgufFormat::kQ4_K:
      return q45_k(block, nullptr, block + 16, values);
    case GgufFormat::kQ5_K:
      return q45_k(block, block + 16, block + 48, values);
    case GgufFormat::kQ6_K:
      return q6_k(block, values);
    case GgufFormat::kMxfp4:
      return mxfp4(block, values);
  }
}

}  // namespace

std::optional<GgufBlock> gguf_block(std::uint32_t format) {
  for (const GgufBlock& block : kBlocks)
    if (static_cast<std::uint32_t>(block.format) == format) return block;
  return std::nullopt;
}

std::string_view gguf_format_name(std::uint32_t format) {
  return format < std::size(kNames) ? kNames[format] : std::string_view();
}

void dequantize(GgufFormat format, std::span<const std::uint8_t> blocks, std::span<float> values) {
  const GgufBlock block = *gguf_block(static_cast<std::uint32_t>(format));
  const auto elements = static_cast<std::size_t>(block.elements);
  const auto bytes = static_cast<std::size_t>(block.bytes);
  const std::size_t count = std::min(blocks.size() / bytes, values.size() / elements);
  for (std::size_t i = 0; i < count; ++i)
    block_values(format, &blocks[i * bytes], &values[i * elements]);
}

}  // namespace rooftile
