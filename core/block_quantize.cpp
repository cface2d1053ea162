#include "core/block_quantize.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <iterator>
#include <span>

#include "core/block_format.h"
#include "core/half.h"

namespace rooftile {
namespace {

using Values = std::span<const float>;

float largest_magnitude(Values values) {
  float most = 0;
  for (const float x : values) most = std::max(most, std::abs(x));
  return most;
}
/// The value of the largest magnitude, with its sign. Clang 19 makes wrong code of a loop that
/// takes the magnitude of what it has found so far.
float extreme(Values values) {
  float most = 0, magnitude = 0;
  for (const float x : values) {
    if (!(std::abs(x) > magnitude)) continue;
    most = x;
    magnitude = std::abs(most);
  }
  return most;
}

int nearest_integer(float value, float scale, int low, int high) {
  if (scale == 0) return std::clamp(0, low, high);
  return static_cast<int>(
      std::clamp(std::nearbyint(value / scale), static_cast<float>(low), static_cast<float>(high)));
}

/// Writes a scale as a 16-bit float, rounded away from zero, and returns what it became.
float put_half(std::uint8_t* bytes, float scale) {
  scale = std::clamp(scale, -kLargestF16, kLargestF16);  // a quotient may round to more
  std::uint16_t bits = to_f16(scale);
  if (std::abs(from_f16(bits)) < std::abs(scale)) ++bits;
  bytes[0] = static_cast<std::uint8_t>(bits);
  bytes[1] = static_cast<std::uint8_t>(bits >> 8);
  return from_f16(bits);
}

/// Adds bits to a byte.
void put(std::uint8_t& byte, int bits) { byte = static_cast<std::uint8_t>(byte | bits); }

/// The integer that quantises a scale, at most `most`: the nearest one, or the next if so many
/// steps of the nearest ended half a step or more before the range. Both scales are at least 0.
int scale_multiple(float wanted, float scale, int steps, int most) {
  const int nearest = nearest_integer(wanted, scale, 0, most);
  const float step = scale * static_cast<float>(nearest);
  const bool ends_early = static_cast<float>(steps) * (wanted - step) > step / 2;
  return std::min(nearest + (ends_early ? 1 : 0), most);
}

/// The elements of a block that share a scale.
Values part(const BlockLayout& layout, Values values, std::size_t i) {
  const auto size = static_cast<std::size_t>(layout.scaled);
  return values.subspan(i * size, size);
}
std::size_t parts_of(const BlockLayout& layout) {
  return static_cast<std::size_t>(layout.elements / layout.scaled);
}

/// Whether a scale of 0 is nearer to all values than this one, under which no code of IQ4 is 0.
bool zeros_are_nearer(const BlockLayout& layout, float scale, Values values) {
  return layout.code == BlockCode::kIq4 && largest_magnitude(values) < std::abs(scale) / 2;
}

/// The value of the largest magnitude becomes the lowest one.
void put_scale(const BlockLayout& layout, Values values, std::uint8_t* block) {
  const float scale =
      put_half(block, extreme(values) / static_cast<float>(range_of(layout).lowest));
  if (zeros_are_nearer(layout, scale, values)) put_half(block, 0);
}
void put_symmetric_scale(const BlockLayout&, Values values, std::uint8_t* block) {
  put_half(block, largest_magnitude(values) / 127);
}

/// How far values reach below zero and above it.
struct Sides {
  float below, above;
};
Sides sides_of(Values values) {
  const auto [lowest, highest] = std::minmax_element(values.begin(), values.end());
  return {std::max(0.0F, -*lowest), std::max(0.0F, *highest)};
}

/// The smallest element (at most 0) is the minimum, which is added.
void put_scale_and_minimum(const BlockLayout& layout, Values values, std::uint8_t* block) {
  const auto [below, above] = sides_of(values);
  const float minimum = -put_half(block + 2, -below);
  put_half(block, (above + minimum) / static_cast<float>(range_of(layout).highest));
}

/// The power of two under which the largest magnitude is at most 6.
void put_power_of_two(const BlockLayout&, Values values, std::uint8_t* block) {
  constexpr int kBias = 127, kLargest = 125;  // Under a larger one, 6 is beyond float32.
  int exponent = 0;
  const float fraction = std::frexp(largest_magnitude(values), &exponent);  // of 2^exponent
  exponent = std::clamp(exponent - (fraction > 0.75F ? 2 : 3), -kBias, kLargest);
  block[0] = static_cast<std::uint8_t>(exponent + kBias);
}

/// The least scales under which the largest magnitudes are at most 6.
void put_scales_of_nvfp4(const BlockLayout& layout, Values values, std::uint8_t* block) {
  constexpr std::uint8_t kLargest = 0x7e;
  for (std::size_t i = 0; i < parts_of(layout); ++i) {
    const float wanted = largest_magnitude(part(layout, values, i)) / 6;
    while (block[i] < kLargest && from_e4m3(block[i]) < wanted) ++block[i];
  }
}

/// Writes a 16-bit scale, and returns those of parts as multiples of it, from -most to most.
std::array<int, kMostGroups> put_signed_scales(const BlockLayout& layout, Values values, int most,
                                               std::uint8_t* at) {
  const int lowest = range_of(layout).lowest;
  std::array<float, kMostGroups> scales = {};
  for (std::size_t i = 0; i < parts_of(layout); ++i)
    scales[i] = extreme(part(layout, values, i)) / static_cast<float>(lowest);
  const float scale = put_half(at, largest_magnitude(scales) / static_cast<float>(most));
  std::array<int, kMostGroups> result = {};
  for (std::size_t i = 0; i < parts_of(layout); ++i) {
    const int magnitude = scale_multiple(std::abs(scales[i]), scale, -lowest, most);
    const float step = scale * static_cast<float>(magnitude);
    if (zeros_are_nearer(layout, step, part(layout, values, i))) continue;
    result[i] = scales[i] < 0 ? -magnitude : magnitude;
  }
  return result;
}

void put_scales_of_q6_k(const BlockLayout& layout, Values values, std::uint8_t* block) {
  const auto own = put_signed_scales(layout, values, 127, block + 208);
  for (std::size_t i = 0; i < kMostGroups; ++i) block[192 + i] = static_cast<std::uint8_t>(own[i]);
}
void put_scales_of_q3_k(const BlockLayout& layout, Values values, std::uint8_t* block) {
  const auto own = put_signed_scales(layout, values, 31, block + 108);
  std::uint8_t* const packed = block + 96;
  for (std::size_t i = 0; i < kMostGroups; ++i) {
    const int x = own[i] + 32;
    put(packed[i % 8], (x & 15) << i / 8 * 4);
    put(packed[8 + i % 4], x >> 4 << i / 4 * 2);
  }
}
void put_scales_of_iq4_xs(const BlockLayout& layout, Values values, std::uint8_t* block) {
  const auto own = put_signed_scales(layout, values, 31, block);
  for (std::size_t i = 0; i < parts_of(layout); ++i) {
    const int x = own[i] + 32;
    put(block[4 + i / 2], (x & 15) << i % 2 * 4);
    put(block[2 + i / 4], x >> 4 << i % 4 * 2);
  }
}

/// The scales and minimums of parts as multiples, up to `most`, of a 16-bit scale and a minimum
/// that lies behind it. A part has integers from 0 on, so that its smallest element (at most 0) is
/// minus its minimum.
struct PartScales {
  std::array<int, kMostGroups> scales, minimums;
};
PartScales put_part_scales(const BlockLayout& layout, Values values, int most, std::uint8_t* at) {
  const int last = range_of(layout).highest;
  std::array<float, kMostGroups> scales = {}, minimums = {};
  for (std::size_t i = 0; i < parts_of(layout); ++i) {
    const auto [below, above] = sides_of(part(layout, values, i));
    minimums[i] = below;
    scales[i] = (above + below) / static_cast<float>(last);
  }
  const float scale = put_half(at, largest_magnitude(scales) / static_cast<float>(most)),
              minimum = put_half(at + 2, largest_magnitude(minimums) / static_cast<float>(most));
  PartScales result = {};
  for (std::size_t i = 0; i < parts_of(layout); ++i) {
    result.scales[i] = scale_multiple(scales[i], scale, last, most);
    result.minimums[i] = nearest_integer(minimums[i], minimum, 0, most);
  }
  return result;
}

void put_scales_of_q45_k(const BlockLayout& layout, Values values, std::uint8_t* block) {
  const auto [scales, minimums] = put_part_scales(layout, values, 63, block);
  std::uint8_t* const packed = block + 4;
  for (std::size_t i = 0; i < 4; ++i) {
    put(packed[i], scales[i]);
    put(packed[i + 4], minimums[i]);
  }
  for (std::size_t i = 4; i < 8; ++i) {
    put(packed[i + 4], (scales[i] & 15) | (minimums[i] & 15) << 4);
    put(packed[i - 4], scales[i] >> 4 << 6);
    put(packed[i], minimums[i] >> 4 << 6);
  }
}
void put_scales_of_q2_k(const BlockLayout& layout, Values values, std::uint8_t* block) {
  const auto [scales, minimums] = put_part_scales(layout, values, 15, block + 80);
  for (std::size_t i = 0; i < kMostGroups; ++i) put(block[i], scales[i] | minimums[i] << 4);
}

struct Quantizer {
  void (*put_scales)(const BlockLayout& layout, Values values, std::uint8_t* block);
  double most;  ///< The largest scale.
};

constexpr double kMostHalf = kLargestF16;
/// In the order of BlockFormat.
constexpr Quantizer kQuantizers[] = {
    {put_scale, kMostHalf},                  // Q4_0
    {put_scale, kMostHalf},                  // Q5_0
    {put_symmetric_scale, kMostHalf},        // Q8_0
    {put_scales_of_q45_k, 63 * kMostHalf},   // Q4_K
    {put_scales_of_q45_k, 63 * kMostHalf},   // Q5_K
    {put_scales_of_q6_k, 127 * kMostHalf},   // Q6_K
    {put_power_of_two, 0x1p125},             // MXFP4
    {put_scale_and_minimum, kMostHalf},      // Q4_1
    {put_scale_and_minimum, kMostHalf},      // Q5_1
    {put_scales_of_q2_k, 15 * kMostHalf},    // Q2_K
    {put_scales_of_q3_k, 31 * kMostHalf},    // Q3_K
    {put_scale, kMostHalf},                  // IQ4_NL
    {put_scales_of_iq4_xs, 31 * kMostHalf},  // IQ4_XS
    {put_scales_of_nvfp4, 448},              // NVFP4
};
static_assert(std::size(kQuantizers) == std::size(kBlockLayouts));

const Quantizer& quantizer_of(BlockFormat format) {
  return kQuantizers[static_cast<std::size_t>(format) - 1];
}

/// The range of codes that quantize_block() writes: int8 without its lowest.
CodeRange written_range(const BlockLayout& layout) {
  const CodeRange range = range_of(layout);
  return layout.code == BlockCode::kInt8 ? CodeRange{-127, 127} : range;
}

/// The code of the value nearest to this one.
int nearest_code(const BlockLayout& layout, float value, float scale) {
  const std::span<const float> table = table_of(layout.code);
  if (table.empty()) {
    const auto [lowest, highest] = written_range(layout);
    return nearest_integer(value, scale, lowest, highest) + layout.zero_point;
  }
  const float wanted = scale == 0 ? 0 : value / scale;
  const auto best = std::ranges::min_element(
      table, {}, [&](float candidate) { return std::abs(candidate - wanted); });
  return static_cast<int>(best - table.begin());
}

/// Writes the lowest bits of an element's code.
void put_bits(const BlockBits& bits, std::size_t element, int code, std::uint8_t* block) {
  if (bits.bits == 0) return;
  const auto i = static_cast<int>(element);
  put(block[bits.first + i / bits.span() * bits.width + i % bits.width],
      (code & ((1 << bits.bits) - 1)) << i % bits.span() / bits.width * bits.bits);
}

}  // namespace

BlockReach reach_of(BlockFormat format) {
  const BlockLayout& layout = layout_of(format);
  const double most = quantizer_of(format).most;
  const auto [lowest, highest] = written_range(layout);
  if (layout.minimum) return {-most, highest * most, highest * most};
  const double magnitude = std::max(-lowest, highest) * most;
  return {-magnitude, magnitude, 2 * magnitude};
}

void quantize_block(BlockFormat format, const float* values, std::uint8_t* block) {
  const BlockLayout& layout = layout_of(format);
  const auto count = static_cast<std::size_t>(layout.elements);
  std::memset(block, 0, static_cast<std::size_t>(layout.bytes));
  quantizer_of(format).put_scales(layout, {values, count}, block);
  GroupScales own;
  unpack_scales(format, block, own);
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t group = i / kGroup;
    const int code = nearest_code(layout, values[i] + own.minimums[group], own.scales[group]);
    put_bits(layout.low, i, code, block);
    put_bits(layout.high, i, code >> layout.low.bits, block);
  }
}

}  // namespace rooftile
