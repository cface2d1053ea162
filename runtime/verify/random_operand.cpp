#include "runtime/verify/random_operand.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "core/block_format.h"
#include "core/block_quantize.h"
#include "core/half.h"

namespace rooftile {
namespace {

std::vector<char> random_floats(DataType type, std::int64_t elements, float low, float high,
                                Random& random) {
  std::vector<float> values(static_cast<std::size_t>(elements));
  std::generate(values.begin(), values.end(),
                [&] { return low + (high - low) * (random.symmetric() + 1) / 2; });
  std::vector<char> stored(static_cast<std::size_t>(elements * bytes_of(type)));
  narrow(type, values.data(), stored.data(), elements);
  return stored;
}

constexpr std::int64_t kPeriod = (1 << 20) - 3, kBlockPeriod = 32749;  // Primes.

/// The values, again and again until there are so many bytes.
std::vector<char> repeated(std::vector<char> values, std::int64_t bytes) {
  const auto period = static_cast<std::int64_t>(values.size());
  values.resize(static_cast<std::size_t>(bytes));
  for (std::int64_t filled = period; filled < bytes; filled += period)
    std::memcpy(values.data() + filled, values.data(),
                static_cast<std::size_t>(std::min(period, bytes - filled)));
  return values;
}

/// Blocks of all values, under scales with which weights lie within about [-1, 1]. A scale in
/// sixteen is 0.
std::vector<char> random_blocks(const BlockLayout& layout, std::int64_t count, Random& random) {
  std::vector<char> blocks = random_bytes(count * layout.bytes, random);
  const BlockScales at = block_scales(layout.format);
  const auto put = [&](char* half, double most) {
    const float scale = static_cast<float>(most) * random.symmetric();
    const auto bits = to_f16(random.below(16) == 0 ? 0 : scale);
    std::memcpy(half, &bits, sizeof bits);
  };
  for (std::int64_t i = 0; i < count; ++i) {
    char* const block = blocks.data() + i * layout.bytes;
    if (at.scale >= 0) put(block + at.scale, 1 / at.most_of_scale);
    if (at.minimum >= 0) put(block + at.minimum, 1 / std::abs(at.most_of_minimum));
    if (layout.format == BlockFormat::kMxfp4) *block = static_cast<char>(120 + random.below(5));
    if (layout.format != BlockFormat::kNvfp4) continue;
    // Scales are mostly up to 0.23, but any code occurs: 127 is NaN, 255 is not.
    std::generate_n(block, 4, [&] {
      const auto kind = random.below(16);
      return static_cast<char>(kind == 0 ? 127 | random.below(2) << 7
                                         : random.below(kind < 3 ? 256 : 40));
    });
  }
  return blocks;
}

}  // namespace

std::vector<char> ones(DataType type, std::int64_t elements) {
  const std::vector<float> values(static_cast<std::size_t>(elements), 1.0f);
  std::vector<char> bytes(static_cast<std::size_t>(elements * bytes_of(type)));
  narrow(type, values.data(), bytes.data(), elements);
  return bytes;
}

std::vector<char> random_bytes(std::int64_t count, Random& random) {
  std::vector<char> bytes(static_cast<std::size_t>(count));
  std::generate(bytes.begin(), bytes.end(), [&] { return static_cast<char>(random.below(256)); });
  return bytes;
}

std::vector<char> random_operand(DataType type, std::int64_t elements, Random& random) {
  if (is_8_bit(type)) return random_bytes(elements, random);
  return random_floats(type, elements, -1, 1, random);
}

std::vector<char> random_b(const Types& types, std::int64_t elements, Random& random) {
  if (has_block_format(types))
    return random_blocks(layout_of(types.b.format), elements / types.b.block, random);
  return quantized(types) ? random_bytes(bytes_of_b(types, elements), random)
                          : random_operand(types.a, elements, random);
}

std::vector<char> repeated_operand(DataType type, std::int64_t elements, Random& random) {
  return repeated(random_operand(type, std::min(elements, kPeriod), random),
                  elements * bytes_of(type));
}

std::vector<char> repeated_b(const Types& types, std::int64_t elements, Random& random) {
  // Two elements of 4 bits are one byte.
  const std::int64_t period = has_block_format(types) ? kBlockPeriod * types.b.block
                              : quantized(types)      ? 2 * kPeriod
                                                      : kPeriod;
  return repeated(random_b(types, std::min(elements, period), random), bytes_of_b(types, elements));
}

RandomQuantization random_quantization(const Problem& p, Random& random) {
  if (!has_separate_scales(p.types)) return {};
  const std::int64_t blocks = quantized_blocks(p);
  RandomQuantization result = {.scales = random_operand(p.types.a, blocks, random)};
  if (p.types.b.zero_point == ZeroPoint::kPacked)
    result.zero_points = random_bytes(quantized_bytes(p).zero_points, random);
  if (p.types.b.zero_point == ZeroPoint::kFloat)
    result.zero_points =
        random_floats(p.types.a, blocks, 0, static_cast<float>((1 << p.types.b.bits) - 1), random);
  return result;
}

std::vector<char> equal_b(const Types& types, std::int64_t elements) {
  if (!has_block_format(types)) {
    const int middle = 1 << (types.b.bits - 1),
              value = types.b.zero_point == ZeroPoint::kMiddle ? middle + middle / 2 : middle;
    const int byte = types.b.bits == 4 ? value * 0x11 : value;
    return std::vector<char>(static_cast<std::size_t>(bytes_of_b(types, elements)),
                             static_cast<char>(byte));
  }
  const BlockLayout& layout = layout_of(types.b.format);
  std::vector<float> values(static_cast<std::size_t>(layout.elements), 0.5f);
  for (std::size_t i = kGroup - 1; i < values.size(); i += kGroup) values[i] = 127.0f / 128;
  std::vector<char> block(static_cast<std::size_t>(layout.bytes));
  quantize_block(types.b.format, values.data(), reinterpret_cast<std::uint8_t*>(block.data()));
  return repeated(block, elements / layout.elements * layout.bytes);
}

RandomQuantization equal_quantization(const Problem& p) {
  if (!has_separate_scales(p.types)) return {};
  RandomQuantization result = {.scales = ones(p.types.a, quantized_blocks(p))};
  result.zero_points.resize(static_cast<std::size_t>(quantized_bytes(p).zero_points));
  return result;
}

}  // namespace rooftile
