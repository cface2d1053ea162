#include "runtime/verify/random_operand.h"

#include <algorithm>
#include <cmath>
#include <cstring>

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

/// Blocks of all values, under scales with which weights lie within about [-1, 1].
std::vector<char> random_blocks(const BlockLayout& layout, std::int64_t count, Random& random) {
  std::vector<char> blocks = random_bytes(count * layout.bytes, random);
  const auto put = [&](char* at, double most) {
    const auto bits = to_f16(static_cast<float>(most) * random.symmetric());
    std::memcpy(at, &bits, sizeof bits);
  };
  constexpr double kPartScale = 63, kGroupScale = 128;
  for (std::int64_t i = 0; i < count; ++i) {
    char* const block = blocks.data() + i * layout.bytes;
    const double most = std::ldexp(1.0, 1 - layout.bits);  // over the largest integer
    switch (layout.format) {
      case BlockFormat::kQ4_K:
      case BlockFormat::kQ5_K:
        put(block, most / kPartScale / 2);
        put(block + 2, 1 / kPartScale);
        break;
      case BlockFormat::kQ6_K:
        put(block + layout.bytes - 2, most / kGroupScale);
        break;
      case BlockFormat::kMxfp4:
        *block = static_cast<char>(120 + random.below(5));
        break;
      default:
        put(block, most);
    }
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

}  // namespace rooftile
