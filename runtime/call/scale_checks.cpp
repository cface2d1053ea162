#include "runtime/call/scale_checks.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "core/block_format.h"
#include "core/error.h"
#include "core/half.h"

namespace rooftile {
namespace {

constexpr std::int64_t kChunk = 1024;  // Blocks that are checked together.

/// Magnitudes up to which a scale and a float zero point are legal whatever the other one is.
struct HarmlessUpTo {
  float scale, zero_point;
};
HarmlessUpTo harmless_up_to(const Types& types) {
  constexpr float kAny = std::numeric_limits<float>::infinity();
  if (types.a != DataType::kF16) return {kAny, kAny};
  const double most = largest_weight(types.a), range = (1 << types.b.bits) - 1;
  // A float zero point within twice the range is at most three times the range away from a value.
  const double distance = types.b.zero_point == ZeroPoint::kMiddle   ? 1 << (types.b.bits - 1)
                          : types.b.zero_point == ZeroPoint::kPacked ? range
                                                                     : 3 * range;
  return {static_cast<float>(most / distance), static_cast<float>(2 * range)};
}

/// Whether one of `count` values is NaN or has a larger magnitude. It compares bits, so that
/// compilers vectorise the loop.
template <typename Bits>
bool any_beyond(const Bits* bits, std::int64_t count, Bits magnitude, Bits most) {
  bool any = false;
  for (std::int64_t i = 0; i < count; ++i) any |= (bits[i] & magnitude) > most;
  return any;
}
bool any_beyond(DataType type, const void* values, std::int64_t first, std::int64_t count,
                float largest) {
  if (type == DataType::kF16) {
    std::uint16_t most = to_f16(largest);
    if (from_f16(most) > largest) --most;
    return any_beyond(static_cast<const std::uint16_t*>(values) + first, count,
                      std::uint16_t{0x7fff}, most);
  }
  return any_beyond(static_cast<const std::uint32_t*>(values) + first, count,
                    std::uint32_t{0x7fffffff}, std::bit_cast<std::uint32_t>(largest));
}

void check_block(const Problem& p, const QuantizedOperand& b, std::int64_t row,
                 std::int64_t block) {
  const std::int64_t blocks = ld_quantized(p) / p.types.b.block;
  const double scale = element(p.types.a, b.scales, row * blocks + block),
               zero = zero_point(p, b, row, block);
  const auto refuse_nan = [&](const char* what) {
    fail(ErrorCode::kInvalidArgument, "{} of b is NaN at block {} of row {}", what, block, row);
  };
  if (std::isnan(scale)) refuse_nan("the scale");
  if (std::isnan(zero)) refuse_nan("the zero point");
  if (p.types.a != DataType::kF16) return;
  const double distance = largest_distance(p.types.b, zero), most = largest_weight(p.types.a);
  if (!(std::abs(scale) * distance <= most))
    fail(ErrorCode::kInvalidArgument,
         "the scale of b is {} at block {} of row {}; weights beside A in f16 are f16 as well, so "
         "with the zero point {} it may be {} at most",
         scale, block, row, zero, most / distance);
}

/// Blocks that hold their scales: weights must lie within the range of f16 beside an A in f16, else
/// within that of f32.
void check_blocks(const Problem& p, const QuantizedOperand& b) {
  const BlockLayout& layout = layout_of(p.types.b.format);
  const auto* const blocks = static_cast<const std::uint8_t*>(b.values);
  const std::int64_t all = quantized_blocks(p), in_row = ld_quantized(p) / layout.elements;
  const double most = largest_weight(p.types.a);
  for (std::int64_t i = 0; i < all; ++i) {
    const double largest = largest_weight_of_block(layout.format, blocks + i * layout.bytes);
    if (largest <= most) continue;
    if (!std::isfinite(largest))
      fail(ErrorCode::kInvalidArgument, "the scale {}of b is not finite at block {} of row {}",
           layout.minimum ? "or minimum " : "", i % in_row, i / in_row);
    fail(ErrorCode::kInvalidArgument,
         "the scale of b allows weights of {} at block {} of row {}; beside A in {} they are up to "
         "{}{}",
         largest, i % in_row, i / in_row, name(p.types.a), most,
         p.types.a == DataType::kF16 ? ": use A in f32 or bf16" : "");
  }
}

}  // namespace

void check_scales(const Problem& p, const QuantizedOperand& b) {
  if (has_block_format(p.types)) return check_blocks(p, b);
  const std::int64_t all = quantized_blocks(p), in_row = ld_quantized(p) / p.types.b.block;
  const bool floats = p.types.b.zero_point == ZeroPoint::kFloat;
  const HarmlessUpTo harmless = harmless_up_to(p.types);
  for (std::int64_t first = 0; first < all; first += kChunk) {
    const std::int64_t count = std::min(kChunk, all - first);
    if (!any_beyond(p.types.a, b.scales, first, count, harmless.scale) &&
        !(floats && any_beyond(p.types.a, b.zero_points, first, count, harmless.zero_point)))
      continue;
    for (std::int64_t i = first; i < first + count; ++i) check_block(p, b, i / in_row, i % in_row);
  }
}

}  // namespace rooftile
