#include "core/block_format.h"

#include <cmath>
#include <iterator>
#include <limits>
#include <utility>

#include "core/half.h"

namespace rooftile {
namespace {

float half_at(const std::uint8_t* bytes) {
  return from_f16(static_cast<std::uint16_t>(bytes[0] | bytes[1] << 8));
}

/// Elements of a sign, two bits of exponent and one of mantissa (OCP Microscaling Formats 1.0).
constexpr float kE2m1Values[] = {0,  0.5F,  1,  1.5F,  2,  3,  4,  6,
                                 -0, -0.5F, -1, -1.5F, -2, -3, -4, -6};
/// kvalues_iq4nl of ggml.
constexpr float kIq4Values[] = {-127, -104, -83, -65, -49, -35, -22, -10,
                                1,    13,   25,  38,  53,  69,  89,  113};

/// Calls take(i, x) with bits x of each element i of a block.
template <BlockBits bits, std::size_t count, typename Take>
void for_bits(const std::uint8_t* block, const Take& take) {
  constexpr std::size_t width = bits.width, span = bits.span();
  const std::uint8_t* from = block + bits.first;
  for (std::size_t first = 0; first < count; first += span, from += width)
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC unroll 1  // It makes vectors of a loop, not of the copies that it makes of a short one.
#endif
    for (std::size_t i = 0; i < width; ++i)
      for (std::size_t bit = 0; bit < 8; bit += bits.bits)
        take(first + bit / bits.bits * width + i, from[i] >> bit & ((1 << bits.bits) - 1));
}

/// The values of a block's elements under scales of 1.
template <std::size_t index>
void unpack_values(const std::uint8_t* block, UnpackedBlock& x) {
  constexpr BlockLayout layout = kBlockLayouts[index];
  constexpr std::size_t count = layout.elements;
  std::array<std::uint8_t, count> high;
  if constexpr (layout.high.bits > 0)
    for_bits<layout.high, count>(block, [&](std::size_t i, int bits) {
      high[i] = static_cast<std::uint8_t>(bits << layout.low.bits);
    });
  for_bits<layout.low, count>(block, [&](std::size_t i, int code) {
    if constexpr (layout.high.bits > 0) code |= high[i];
    if constexpr (layout.code == BlockCode::kInteger)
      x.values[i] = static_cast<float>(code - layout.zero_point);
    else if constexpr (layout.code == BlockCode::kInt8)
      x.values[i] = static_cast<float>(static_cast<std::int8_t>(code));
    else
      x.values[i] = table_of(layout.code)[static_cast<std::size_t>(code)];
  });
}

template <std::size_t... index>
constexpr auto unpack_values_of(std::index_sequence<index...>) {
  return std::array{unpack_values<index>...};
}
/// In the order of BlockFormat.
constexpr auto kUnpackValues =
    unpack_values_of(std::make_index_sequence<std::size(kBlockLayouts)>());

void one_scale(GroupScales& x, float scale, float minimum = 0) {
  x.scales[0] = x.scales[1] = scale;
  x.minimums[0] = x.minimums[1] = minimum;
}
void half_scale(const std::uint8_t* block, GroupScales& x) { one_scale(x, half_at(block)); }
/// The minimum is added.
void half_scale_and_minimum(const std::uint8_t* block, GroupScales& x) {
  one_scale(x, half_at(block), -half_at(block + 2));
}

/// Under the largest powers of two, 6 is beyond float32.
void power_of_two(const std::uint8_t* block, GroupScales& x) {
  constexpr int kNan = 255, kBias = 127;
  one_scale(x, block[0] == kNan ? std::numeric_limits<float>::quiet_NaN()
                                : std::ldexp(1.0F, block[0] - kBias));
}

void scales_of_nvfp4(const std::uint8_t* block, GroupScales& x) {
  for (std::size_t group = 0; group < 4; ++group) {
    x.scales[group] = from_e4m3(block[group]);
    x.minimums[group] = 0;
  }
}

/// Each part of two groups has a scale and a minimum of 6 bits; twelve bytes hold those of eight
/// parts. The last four parts lend their upper two bits to the first four.
void scales_of_q45_k(const std::uint8_t* block, GroupScales& x) {
  const float scale = half_at(block), minimum = half_at(block + 2);
  const std::uint8_t* const packed = block + 4;
  for (std::size_t part = 0; part < 8; ++part) {
    const bool first_four = part < 4;
    const int own_scale =
        first_four ? packed[part] & 63 : (packed[part + 4] & 15) | (packed[part - 4] >> 6) << 4;
    const int own_minimum =
        first_four ? packed[part + 4] & 63 : packed[part + 4] >> 4 | (packed[part] >> 6) << 4;
    for (std::size_t group = 2 * part; group < 2 * part + 2; ++group) {
      x.scales[group] = scale * static_cast<float>(own_scale);
      x.minimums[group] = minimum * static_cast<float>(own_minimum);
    }
  }
}

void scales_of_q6_k(const std::uint8_t* block, GroupScales& x) {
  const float scale = half_at(block + 208);
  for (std::size_t group = 0; group < kMostGroups; ++group) {
    x.scales[group] = scale * static_cast<float>(static_cast<std::int8_t>(block[192 + group]));
    x.minimums[group] = 0;
  }
}

/// A byte has the scale of a group in its lower half, and its minimum in the upper one.
void scales_of_q2_k(const std::uint8_t* block, GroupScales& x) {
  const float scale = half_at(block + 80), minimum = half_at(block + 82);
  for (std::size_t group = 0; group < kMostGroups; ++group) {
    x.scales[group] = scale * static_cast<float>(block[group] & 15);
    x.minimums[group] = minimum * static_cast<float>(block[group] >> 4);
  }
}

/// Six bits minus 32: the lower four in eight bytes, the upper two in four more.
void scales_of_q3_k(const std::uint8_t* block, GroupScales& x) {
  const float scale = half_at(block + 108);
  const std::uint8_t* const packed = block + 96;
  for (std::size_t group = 0; group < kMostGroups; ++group) {
    const int own = (packed[group % 8] >> group / 8 * 4 & 15) |
                    (packed[8 + group % 4] >> group / 4 * 2 & 3) << 4;
    x.scales[group] = scale * static_cast<float>(own - 32);
    x.minimums[group] = 0;
  }
}

/// Each part of two groups has six bits minus 32: the upper two in a word of 16 bits, the lower
/// four in four bytes behind it.
void scales_of_iq4_xs(const std::uint8_t* block, GroupScales& x) {
  const float scale = half_at(block);
  const int upper = block[2] | block[3] << 8;
  for (std::size_t group = 0; group < kMostGroups; ++group) {
    const std::size_t part = group / 2;
    const int own = (block[4 + part / 2] >> part % 2 * 4 & 15) | (upper >> 2 * part & 3) << 4;
    x.scales[group] = scale * static_cast<float>(own - 32);
    x.minimums[group] = 0;
  }
}

struct Reader {
  void (*unpack_scales)(const std::uint8_t* block, GroupScales& unpacked);
  int scale, minimum;                    ///< Bytes of the 16-bit scale and minimum, or -1.
  int scale_multiple, minimum_multiple;  ///< The largest ones, in files.
};

/// In the order of BlockFormat.
constexpr Reader kReaders[] = {
    {half_scale, 0, -1, 1, 0},              // Q4_0
    {half_scale, 0, -1, 1, 0},              // Q5_0
    {half_scale, 0, -1, 1, 0},              // Q8_0
    {scales_of_q45_k, 0, 2, 63, 63},        // Q4_K
    {scales_of_q45_k, 0, 2, 63, 63},        // Q5_K
    {scales_of_q6_k, 208, -1, 128, 0},      // Q6_K
    {power_of_two, -1, -1, 0, 0},           // MXFP4
    {half_scale_and_minimum, 0, 2, 1, -1},  // Q4_1
    {half_scale_and_minimum, 0, 2, 1, -1},  // Q5_1
    {scales_of_q2_k, 80, 82, 15, 15},       // Q2_K
    {scales_of_q3_k, 108, -1, 32, 0},       // Q3_K
    {half_scale, 0, -1, 1, 0},              // IQ4_NL
    {scales_of_iq4_xs, 0, -1, 32, 0},       // IQ4_XS
    {scales_of_nvfp4, -1, -1, 0, 0},        // NVFP4
};
static_assert(std::size(kReaders) == std::size(kBlockLayouts));

const Reader& reader_of(BlockFormat format) {
  return kReaders[static_cast<std::size_t>(format) - 1];
}

}  // namespace

float from_e4m3(std::uint8_t bits) {
  constexpr int kNan = 0x7f, kBias = 7;
  if (bits == kNan) return 0;  // as ggml has it
  const int exponent = bits >> 3 & 15, mantissa = bits & 7;
  return exponent == 0 ? std::ldexp(static_cast<float>(mantissa), -kBias - 2)
                       : std::ldexp(static_cast<float>(8 + mantissa), exponent - kBias - 3);
}

std::span<const float> table_of(BlockCode code) {
  if (code == BlockCode::kE2m1) return kE2m1Values;
  if (code == BlockCode::kIq4) return kIq4Values;
  return {};
}

CodeRange range_of(const BlockLayout& layout) {
  switch (layout.code) {
    case BlockCode::kE2m1:
      return {-6, 6};
    case BlockCode::kIq4:
      return {-127, 113};
    case BlockCode::kInt8:
      return {-128, 127};
    default:
      return {-layout.zero_point, (1 << layout.bits()) - 1 - layout.zero_point};
  }
}

void unpack_scales(BlockFormat format, const std::uint8_t* block, GroupScales& unpacked) {
  reader_of(format).unpack_scales(block, unpacked);
}

void unpack_block(BlockFormat format, const std::uint8_t* block, UnpackedBlock& unpacked) {
  unpack_scales(format, block, unpacked);
  kUnpackValues[static_cast<std::size_t>(format) - 1](block, unpacked);
}

BlockScales block_scales(BlockFormat format) {
  const Reader& reader = reader_of(format);
  const CodeRange range = range_of(layout_of(format));
  return {reader.scale, reader.minimum,
          static_cast<double>(reader.scale_multiple) * std::max(-range.lowest, range.highest),
          static_cast<double>(reader.minimum_multiple)};
}

double largest_weight_of_block(BlockFormat format, const std::uint8_t* block) {
  const BlockScales at = block_scales(format);
  if (at.scale < 0) {
    GroupScales unpacked;
    unpack_scales(format, block, unpacked);
    const auto groups = static_cast<std::size_t>(layout_of(format).elements / kGroup);
    const auto scales = std::span(unpacked.scales).first(groups);
    const float largest = std::isnan(scales[0]) ? scales[0] : *std::ranges::max_element(scales);
    return range_of(layout_of(format)).highest * static_cast<double>(largest);
  }
  const double scaled = at.most_of_scale * static_cast<double>(half_at(block + at.scale));
  if (at.minimum < 0) return std::abs(scaled);
  const double minimum = at.most_of_minimum * static_cast<double>(half_at(block + at.minimum));
  // Subtracting the minimum increases the magnitude only if the two signs differ.
  const bool same_sign = std::signbit(scaled) == std::signbit(minimum);
  const double both = std::abs(scaled) + std::abs(minimum);
  return same_sign ? both - std::min(std::abs(scaled), std::abs(minimum)) : both;
}

void dequantize_blocks(BlockFormat format, const std::uint8_t* blocks, std::int64_t count,
                       float* values) {
  const BlockLayout& layout = layout_of(format);
  UnpackedBlock unpacked;
  for (std::int64_t block = 0; block < count; ++block) {
    unpack_block(format, blocks + block * layout.bytes, unpacked);
    write_elements(unpacked, layout.elements, values + block * layout.elements);
  }
}

}  // namespace rooftile
