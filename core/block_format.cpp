#include "core/block_format.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <iterator>
#include <limits>

#include "core/half.h"

namespace rooftile {
namespace {

constexpr std::size_t kSimple = 32;  // Elements of the blocks with one scale.
constexpr std::size_t kSuper = 256;  // Elements of a K-quant's block, in parts of kPartElements.
constexpr std::size_t kPartElements = 32, kPartsOfBlock = kSuper / kPartElements;

float half_at(const std::uint8_t* bytes) {
  return from_f16(static_cast<std::uint16_t>(bytes[0] | bytes[1] << 8));
}
double magnitude_at(const std::uint8_t* bytes) {
  return std::abs(static_cast<double>(half_at(bytes)));
}
void put_half(std::uint8_t* bytes, float value) {
  const std::uint16_t bits = to_f16(value);
  bytes[0] = static_cast<std::uint8_t>(bits);
  bytes[1] = static_cast<std::uint8_t>(bits >> 8);
}

/// The largest integers that quantise a scale: of a part of Q4_K and Q5_K, and of a group of Q6_K,
/// which in files may also be -128.
constexpr int kMostPartScale = 63, kMostGroupScale = 127;

void one_scale(UnpackedBlock& unpacked, float scale) {
  unpacked.scales[0] = unpacked.scales[1] = scale;
  unpacked.minimums[0] = unpacked.minimums[1] = 0;
}

/// The 4-bit values of 16 bytes: the low halves, then the high ones.
template <typename Value>
void nibbles(const std::uint8_t* bytes, float* values, const Value& value) {
  for (std::size_t i = 0; i < kSimple / 2; ++i) {
    values[i] = value(bytes[i] & 15, i);
    values[i + kSimple / 2] = value(bytes[i] >> 4, i + kSimple / 2);
  }
}

void unpack_q4_0(const std::uint8_t* block, UnpackedBlock& x) {
  one_scale(x, half_at(block));
  nibbles(block + 2, x.values.data(), [](int q, std::size_t) { return static_cast<float>(q - 8); });
}

void unpack_q5_0(const std::uint8_t* block, UnpackedBlock& x) {
  std::uint32_t high = 0;
  for (int byte = 0; byte < 4; ++byte)
    high |= static_cast<std::uint32_t>(block[2 + byte]) << 8 * byte;
  one_scale(x, half_at(block));
  nibbles(block + 6, x.values.data(), [&](int q, std::size_t i) {
    return static_cast<float>((q | static_cast<int>(high >> i & 1) << 4) - 16);
  });
}

void unpack_q8_0(const std::uint8_t* block, UnpackedBlock& x) {
  one_scale(x, half_at(block));
  for (std::size_t i = 0; i < kSimple; ++i)
    x.values[i] = static_cast<float>(static_cast<std::int8_t>(block[2 + i]));
}

/// Elements of a sign, two bits of exponent and one of mantissa under a power of two (OCP
/// Microscaling Formats 1.0).
constexpr std::array<float, 8> kMxfp4Magnitudes = {0, 0.5, 1, 1.5, 2, 3, 4, 6};
constexpr int kMxfp4Bias = 127;
/// Under a larger power of two, which files may have, 6 is beyond float32.
constexpr int kMxfp4LargestExponent = 125;
constexpr double kMxfp4LargestScale = 0x1p125;

void unpack_mxfp4(const std::uint8_t* block, UnpackedBlock& x) {
  constexpr int kNan = 255;
  one_scale(x, block[0] == kNan ? std::numeric_limits<float>::quiet_NaN()
                                : std::ldexp(1.0F, block[0] - kMxfp4Bias));
  nibbles(block + 1, x.values.data(), [&](int q, std::size_t) {
    const float magnitude = kMxfp4Magnitudes[static_cast<std::size_t>(q & 7)];
    return q < 8 ? magnitude : -magnitude;
  });
}

/// Scale and minimum of a part, 6 bits each, of twelve bytes that hold eight of them.
struct PartScale {
  int scale, minimum;
};
PartScale part_scale(const std::uint8_t* packed, std::size_t part) {
  if (part < 4) return {packed[part] & 63, packed[part + 4] & 63};
  return {(packed[part + 4] & 15) | (packed[part - 4] >> 6) << 4,
          (packed[part + 4] >> 4) | (packed[part] >> 6) << 4};
}
void put_part_scale(std::uint8_t* packed, std::size_t part, PartScale x) {
  const auto add = [&](std::size_t at, int bits) {
    packed[at] = static_cast<std::uint8_t>(packed[at] | bits);
  };
  if (part < 4) {
    add(part, x.scale);
    add(part + 4, x.minimum);
  } else {
    add(part + 4, (x.scale & 15) | (x.minimum & 15) << 4);
    add(part - 4, x.scale >> 4 << 6);
    add(part, x.minimum >> 4 << 6);
  }
}

/// Q4_K, and Q5_K with the fifth bits of the elements at `high`: parts of 32 elements, of which two
/// share the bytes of their low bits, under scales and minimums that are scaled themselves.
void unpack_q45_k(const std::uint8_t* block, const std::uint8_t* high, const std::uint8_t* low,
                  UnpackedBlock& x) {
  const float scale = half_at(block), minimum = half_at(block + 2);
  for (std::size_t part = 0; part < kPartsOfBlock; ++part) {
    const PartScale own = part_scale(block + 4, part);
    for (std::size_t group = 2 * part; group < 2 * part + 2; ++group) {
      x.scales[group] = scale * static_cast<float>(own.scale);
      x.minimums[group] = minimum * static_cast<float>(own.minimum);
    }
    for (std::size_t i = 0; i < kPartElements; ++i) {
      const int both = low[part / 2 * kPartElements + i];
      int value = part % 2 == 0 ? both & 15 : both >> 4;
      if (high != nullptr) value |= (high[i] >> part & 1) << 4;
      x.values[part * kPartElements + i] = static_cast<float>(value);
    }
  }
}

/// 128 bytes with four bits of each element, 64 with two bits, 16 scales, and the scale of those.
constexpr std::size_t kHigh6 = 128, kScales6 = 192, kScale6 = 208;
struct Place6 {
  std::size_t low, high;  ///< Bytes, and
  int low_shift, high_shift;
};
Place6 place_6(std::size_t i) {
  const std::size_t half = i / 128, quarter = i % 128 / 32, lane = i % 32;
  return {half * 64 + quarter % 2 * 32 + lane, kHigh6 + half * 32 + lane,
          static_cast<int>(quarter / 2 * 4), static_cast<int>(2 * quarter)};
}

void unpack_q6_k(const std::uint8_t* block, UnpackedBlock& x) {
  const float scale = half_at(block + kScale6);
  for (std::size_t group = 0; group < kMostGroups; ++group) {
    x.scales[group] = scale * static_cast<float>(static_cast<std::int8_t>(block[kScales6 + group]));
    x.minimums[group] = 0;
  }
  for (std::size_t i = 0; i < kSuper; ++i) {
    const Place6 at = place_6(i);
    const int value = (block[at.low] >> at.low_shift & 15) | (block[at.high] >> at.high_shift & 3)
                                                                 << 4;
    x.values[i] = static_cast<float>(value - 32);
  }
}

float largest_magnitude(const float* values, std::size_t count) {
  float most = 0;
  for (std::size_t i = 0; i < count; ++i) most = std::max(most, std::abs(values[i]));
  return most;
}
/// The value of the largest magnitude, with its sign. Clang 19 makes wrong code of a loop that
/// takes the magnitude of what it has found so far.
float extreme(const float* values, std::size_t count) {
  float most = 0, magnitude = 0;
  for (std::size_t i = 0; i < count; ++i) {
    if (!(std::abs(values[i]) > magnitude)) continue;
    most = values[i];
    magnitude = std::abs(most);
  }
  return most;
}

int nearest_integer(float value, float scale, int low, int high) {
  if (scale == 0) return std::clamp(0, low, high);
  return static_cast<int>(
      std::clamp(std::nearbyint(value / scale), static_cast<float>(low), static_cast<float>(high)));
}
/// The scale as a block stores it, rounded away from zero.
float stored_half(float scale) {
  scale = std::clamp(scale, -kLargestF16, kLargestF16);  // a quotient may round to more
  std::uint16_t bits = to_f16(scale);
  if (std::abs(from_f16(bits)) < std::abs(scale)) ++bits;
  return from_f16(bits);
}

/// The integer that quantises a scale, at most `most`: the nearest one, or the next if so many
/// steps of the nearest ended half a step or more before the range. Both scales are at least 0.
int scale_multiple(float wanted, float scale, int steps, int most) {
  const int nearest = nearest_integer(wanted, scale, 0, most);
  const float step = scale * static_cast<float>(nearest);
  const bool ends_early = static_cast<float>(steps) * (wanted - step) > step / 2;
  return std::min(nearest + (ends_early ? 1 : 0), most);
}

/// Q4_0 and Q5_0: the value of the largest magnitude becomes the lowest integer, -middle.
void quantize_simple(const float* values, int middle, std::uint8_t* block, std::uint8_t* low,
                     std::uint8_t* high) {
  const float scale = stored_half(extreme(values, kSimple) / static_cast<float>(-middle));
  put_half(block, scale);
  for (std::size_t i = 0; i < kSimple; ++i) {
    const int q = nearest_integer(values[i], scale, -middle, middle - 1) + middle;
    const auto shift = static_cast<int>(i / 16 * 4);
    low[i % 16] = static_cast<std::uint8_t>(low[i % 16] | (q & 15) << shift);
    if (high != nullptr) high[i / 8] = static_cast<std::uint8_t>(high[i / 8] | (q >> 4) << (i % 8));
  }
}

void quantize_q8_0(const float* values, std::uint8_t* block) {
  const float scale = stored_half(largest_magnitude(values, kSimple) / 127);
  put_half(block, scale);
  for (std::size_t i = 0; i < kSimple; ++i)
    block[2 + i] = static_cast<std::uint8_t>(nearest_integer(values[i], scale, -127, 127));
}

/// The power of two under which the largest magnitude is at most 6.
void quantize_mxfp4(const float* values, std::uint8_t* block) {
  int exponent = 0;
  const float fraction =
      std::frexp(largest_magnitude(values, kSimple), &exponent);  // of 2^exponent
  exponent = std::clamp(exponent - (fraction > 0.75F ? 2 : 3), -kMxfp4Bias, kMxfp4LargestExponent);
  block[0] = static_cast<std::uint8_t>(exponent + kMxfp4Bias);
  const float scale = std::ldexp(1.0F, exponent);
  for (std::size_t i = 0; i < kSimple; ++i) {
    const float magnitude = std::abs(values[i]) / scale;
    const auto best = std::ranges::min_element(
        kMxfp4Magnitudes, {}, [&](float candidate) { return std::abs(candidate - magnitude); });
    const int q = static_cast<int>(best - kMxfp4Magnitudes.begin()) + (values[i] < 0 ? 8 : 0);
    block[1 + i % 16] = static_cast<std::uint8_t>(block[1 + i % 16] | q << (i / 16 * 4));
  }
}

/// Each part has integers from 0 on, so that its smallest element (at most 0) is minus its minimum.
void quantize_q45_k(const float* values, int last, std::uint8_t* block, std::uint8_t* high,
                    std::uint8_t* low) {
  std::array<float, kPartsOfBlock> scales, minimums;
  for (std::size_t part = 0; part < kPartsOfBlock; ++part) {
    const auto [low_value, high_value] =
        std::minmax_element(values + part * kPartElements, values + (part + 1) * kPartElements);
    minimums[part] = std::max(0.0F, -*low_value);
    scales[part] = (std::max(0.0F, *high_value) + minimums[part]) / static_cast<float>(last);
  }
  const float scale = stored_half(*std::ranges::max_element(scales) / kMostPartScale);
  const float minimum = stored_half(*std::ranges::max_element(minimums) / kMostPartScale);
  put_half(block, scale);
  put_half(block + 2, minimum);
  for (std::size_t part = 0; part < kPartsOfBlock; ++part) {
    const PartScale own = {scale_multiple(scales[part], scale, last, kMostPartScale),
                           nearest_integer(minimums[part], minimum, 0, kMostPartScale)};
    put_part_scale(block + 4, part, own);
    const float step = scale * static_cast<float>(own.scale);
    const float offset = minimum * static_cast<float>(own.minimum);
    for (std::size_t i = 0; i < kPartElements; ++i) {
      const int q = nearest_integer(values[part * kPartElements + i] + offset, step, 0, last);
      std::uint8_t& both = low[part / 2 * kPartElements + i];
      both = static_cast<std::uint8_t>(both | (q & 15) << (part % 2 * 4));
      if (high != nullptr) high[i] = static_cast<std::uint8_t>(high[i] | (q >> 4) << part);
    }
  }
}

void quantize_q6_k(const float* values, std::uint8_t* block) {
  std::array<float, kMostGroups> scales;
  for (std::size_t group = 0; group < kMostGroups; ++group)
    scales[group] = extreme(values + group * kGroup, kGroup) / -32;
  const float scale = stored_half(largest_magnitude(scales.data(), kMostGroups) / kMostGroupScale);
  put_half(block + kScale6, scale);
  for (std::size_t group = 0; group < kMostGroups; ++group) {
    const int magnitude = scale_multiple(std::abs(scales[group]), scale, 32, kMostGroupScale);
    const int own = scales[group] < 0 ? -magnitude : magnitude;
    block[kScales6 + group] = static_cast<std::uint8_t>(own);
    const float step = scale * static_cast<float>(own);
    for (std::size_t i = group * kGroup; i < (group + 1) * kGroup; ++i) {
      const int q = nearest_integer(values[i], step, -32, 31) + 32;
      const Place6 at = place_6(i);
      block[at.low] = static_cast<std::uint8_t>(block[at.low] | (q & 15) << at.low_shift);
      block[at.high] = static_cast<std::uint8_t>(block[at.high] | (q >> 4) << at.high_shift);
    }
  }
}

/// Upper bound of the values of a block with a minimum.
template <int last>
double largest_with_minimum(const std::uint8_t* block) {
  const double scaled = kMostPartScale * last * magnitude_at(block),
               minimum = kMostPartScale * magnitude_at(block + 2);
  // Subtracting the minimum increases the magnitude only if the two signs differ.
  const bool same_sign = ((block[1] ^ block[3]) & 0x80) == 0;
  return scaled + minimum - (same_sign ? std::min(scaled, minimum) : 0);
}

constexpr BlockReach both_signs(double most) { return {-most, most, 2 * most}; }
constexpr BlockReach with_minimum(int last) {
  const double most = kMostPartScale * double{kLargestF16};
  return {-most, last * most, last * most};
}

struct BlockCode {
  void (*unpack)(const std::uint8_t* block, UnpackedBlock& unpacked);
  void (*quantize)(const float* values, std::uint8_t* block);
  double (*largest_weight)(const std::uint8_t* block);
  BlockReach reach;
};
using Bytes = const std::uint8_t*;

/// In the order of BlockFormat.
constexpr BlockCode kCodes[] = {
    {[](Bytes, UnpackedBlock&) {},
     [](const float*, std::uint8_t*) {},
     [](Bytes) { return 0.0; },
     {}},
    {unpack_q4_0,
     [](const float* values, std::uint8_t* block) {
       quantize_simple(values, 8, block, block + 2, nullptr);
     },
     [](Bytes block) { return 8 * magnitude_at(block); }, both_signs(8 * double{kLargestF16})},
    {unpack_q5_0,
     [](const float* values, std::uint8_t* block) {
       quantize_simple(values, 16, block, block + 6, block + 2);
     },
     [](Bytes block) { return 16 * magnitude_at(block); }, both_signs(16 * double{kLargestF16})},
    {unpack_q8_0, quantize_q8_0, [](Bytes block) { return 128 * magnitude_at(block); },
     both_signs(127 * double{kLargestF16})},
    {[](Bytes block, UnpackedBlock& x) { unpack_q45_k(block, nullptr, block + 16, x); },
     [](const float* values, std::uint8_t* block) {
       quantize_q45_k(values, 15, block, nullptr, block + 16);
     },
     largest_with_minimum<15>, with_minimum(15)},
    {[](Bytes block, UnpackedBlock& x) { unpack_q45_k(block, block + 16, block + 48, x); },
     [](const float* values, std::uint8_t* block) {
       quantize_q45_k(values, 31, block, block + 16, block + 48);
     },
     largest_with_minimum<31>, with_minimum(31)},
    {unpack_q6_k, quantize_q6_k,
     [](Bytes block) { return (kMostGroupScale + 1) * 32 * magnitude_at(block + kScale6); },
     both_signs(32 * kMostGroupScale * double{kLargestF16})},
    {unpack_mxfp4, quantize_mxfp4,
     [](Bytes block) {
       UnpackedBlock unpacked;
       unpack_mxfp4(block, unpacked);
       return 6.0 * static_cast<double>(unpacked.scales[0]);
     },
     both_signs(6 * kMxfp4LargestScale)},
};
static_assert(std::size(kCodes) == static_cast<std::size_t>(BlockFormat::kMxfp4) + 1);

const BlockCode& code_of(BlockFormat format) { return kCodes[static_cast<std::size_t>(format)]; }

}  // namespace

void unpack_block(BlockFormat format, const std::uint8_t* block, UnpackedBlock& unpacked) {
  code_of(format).unpack(block, unpacked);
}

double largest_weight_of_block(BlockFormat format, const std::uint8_t* block) {
  return code_of(format).largest_weight(block);
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

BlockReach reach_of(BlockFormat format) { return code_of(format).reach; }

void quantize_block(BlockFormat format, const float* values, std::uint8_t* block) {
  std::memset(block, 0, static_cast<std::size_t>(layout_of(format).bytes));
  code_of(format).quantize(values, block);
}

}  // namespace rooftile
