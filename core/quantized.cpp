#include "core/quantized.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/block_format.h"
#include "core/block_quantize.h"
#include "core/error.h"
#include "core/half.h"

namespace rooftile {
namespace {

const std::uint8_t* bytes(const void* x) { return static_cast<const std::uint8_t*>(x); }

std::int64_t zero_point_bytes_per_row(const Quantization& q, std::int64_t blocks) {
  return (blocks * q.bits + 7) / 8;
}

/// Value i of a run that starts on a byte.
int packed_value(const std::uint8_t* run, int bits, std::int64_t i) {
  return bits == 8 ? run[i] : run[i / 2] >> (i % 2 * 4) & 0xf;
}
void put_packed_value(std::uint8_t* run, int bits, std::int64_t i, int value) {
  if (bits == 8)
    run[i] = static_cast<std::uint8_t>(value);
  else
    run[i / 2] = static_cast<std::uint8_t>(run[i / 2] | value << (i % 2 * 4));
}

/// The group of a block that a row's step lies in.
struct GroupPlace {
  std::size_t element, group;
};
GroupPlace unpack_at(const Problem& p, const QuantizedOperand& b, std::int64_t row,
                     std::int64_t step, UnpackedBlock& unpacked) {
  const BlockLayout& layout = layout_of(p.types.b.format);
  const std::int64_t blocks = ld_quantized(p) / layout.elements;
  unpack_block(layout.format,
               bytes(b.values) + (row * blocks + step / layout.elements) * layout.bytes, unpacked);
  const auto element = static_cast<std::size_t>(step % layout.elements);
  return {element, element / kGroup};
}

struct Parts {
  double value, zero, scale;
};
Parts parts_of(const Problem& p, const QuantizedOperand& b, std::int64_t row, std::int64_t step) {
  const Quantization& q = p.types.b;
  const std::int64_t ld = ld_quantized(p), blocks = ld / q.block, block = step / q.block;
  const int value = packed_value(bytes(b.values) + bytes_of_b(p.types, row * ld), q.bits, step);
  return {static_cast<double>(value), zero_point(p, b, row, block),
          element(p.types.a, b.scales, row * blocks + block)};
}

/// How one block's values become integers: round(x / scale + zero), held in [0, 2^bits - 1].
/// Both as they are stored.
struct Steps {
  double scale = 0, zero = 0;
};

double nearest(DataType type, double x) {
  const auto single = static_cast<float>(x);
  return type == DataType::kF16 ? from_f16(to_f16(single)) : single;
}

/// The next value of a type above a positive one.
double next(DataType type, double x) {
  return type == DataType::kF16
             ? from_f16(static_cast<std::uint16_t>(to_f16(static_cast<float>(x)) + 1))
             : std::nextafter(static_cast<float>(x), std::numeric_limits<float>::infinity());
}
/// The next value below.
double previous(DataType type, double x) {
  return type == DataType::kF16
             ? from_f16(static_cast<std::uint16_t>(to_f16(static_cast<float>(x)) - 1))
             : std::nextafter(static_cast<float>(x), 0.0f);
}

/// The smallest value of a type that is not below a positive one, and the largest not above it.
double rounded_up(DataType type, double x) {
  const double stored = nearest(type, x);
  return stored < x ? next(type, stored) : stored;
}
double rounded_down(DataType type, double x) {
  const double stored = nearest(type, x);
  return stored > x ? previous(type, stored) : stored;
}

/// The first step (q = 0) is the value of the largest magnitude, the others go towards the other
/// end.
Steps float_steps(const Types& t, double low, double high, double last) {
  const double extreme = std::abs(low) > std::abs(high) ? low : high;
  const double finest = std::abs(extreme) * (t.a == DataType::kF16 ? 0x1p-11 : 0x1p-24);
  const double scale = low == high ? 1.0 : rounded_up(t.a, std::max((high - low) / last, finest));
  return {extreme > 0 ? -scale : scale, nearest(t.a, std::abs(extreme) / scale)};
}

/// Zero is one of the steps.
Steps packed_steps(const Types& t, double low, double high, double last) {
  low = std::min(low, 0.0);
  high = std::max(high, 0.0);
  const double scale = low == high ? 1.0 : rounded_up(t.a, (high - low) / last);
  return {scale, std::clamp(std::nearbyint(-low / scale), 0.0, last)};
}

Steps steps_of(const Types& t, double low, double high) {
  const double middle = 1 << (t.b.bits - 1), last = 2 * middle - 1;
  if (t.b.zero_point == ZeroPoint::kMiddle) {
    // The value of the largest magnitude becomes 0: that side has one step more.
    const double extreme = std::abs(low) > std::abs(high) ? low : high;
    return {std::copysign(rounded_up(t.a, std::abs(extreme) / middle), -extreme), middle};
  }
  Steps steps = t.b.zero_point == ZeroPoint::kFloat ? float_steps(t, low, high, last)
                                                    : packed_steps(t, low, high, last);
  // Roundings may have put the last step beyond what a weight may be.
  const double most = largest_weight(t.a), distance = largest_distance(t.b, steps.zero);
  if (std::abs(steps.scale) * distance > most)
    steps.scale = std::copysign(rounded_down(t.a, most / distance), steps.scale);
  return steps;
}

struct Limits {
  double low, high;
};

/// Smallest and largest value of the steps [first, last) of a row.
template <typename Value>
Limits limits_of(const Types& t, std::int64_t row, std::int64_t first, std::int64_t last,
                 const Value& value) {
  const double most = largest_weight(t.a);
  Limits limits = {value(first), value(first)};
  for (std::int64_t step = first; step < last; ++step) {
    const double x = value(step);
    if (!std::isfinite(x))
      fail(ErrorCode::kInvalidArgument,
           "the weight in row {}, column {} (k x n) is {}: only finite values can be quantised",
           step, row, x);
    if (std::abs(x) > most)
      fail(ErrorCode::kInvalidArgument,
           "the weight in row {}, column {} (k x n) is {}: with A in {} weights must lie within "
           "{}; use f32",
           step, row, x, name(t.a), most);
    limits = {std::min(limits.low, x), std::max(limits.high, x)};
  }
  return limits;
}

}  // namespace

double zero_point(const Problem& p, const QuantizedOperand& b, std::int64_t row,
                  std::int64_t block) {
  const Quantization& q = p.types.b;
  const std::int64_t blocks = ld_quantized(p) / q.block;
  switch (q.zero_point) {
    case ZeroPoint::kPacked:
      return packed_value(bytes(b.zero_points) + row * zero_point_bytes_per_row(q, blocks), q.bits,
                          block);
    case ZeroPoint::kFloat:
      return element(p.types.a, b.zero_points, row * blocks + block);
    case ZeroPoint::kMiddle:
      break;
  }
  return 1 << (q.bits - 1);
}

double largest_distance(const Quantization& q, double zero_point) {
  const double last = (1 << q.bits) - 1;
  return std::max(std::abs(zero_point), std::abs(last - zero_point));
}

double largest_weight(DataType a) {
  return static_cast<double>(a == DataType::kF16 ? kLargestF16 : std::numeric_limits<float>::max());
}

namespace {

template <typename Real>
void dequantize_block_rows(const Problem& p, const QuantizedOperand& b, std::int64_t begin,
                           std::int64_t end, Real* values, std::int64_t ld) {
  const BlockLayout& layout = layout_of(p.types.b.format);
  const std::int64_t blocks = ld_quantized(p) / layout.elements;
  UnpackedBlock unpacked;
  for (std::int64_t row = begin; row < end; ++row)
    for (std::int64_t block = 0; block < blocks; ++block) {
      unpack_block(layout.format, bytes(b.values) + (row * blocks + block) * layout.bytes,
                   unpacked);
      const std::int64_t first = block * layout.elements,
                         count = std::min<std::int64_t>(p.k - first, layout.elements);
      write_elements(unpacked, count, values + (row - begin) * ld + first);
    }
}

template <typename Real>
void dequantize_rows(const Problem& p, const QuantizedOperand& b, std::int64_t begin,
                     std::int64_t end, Real* values, std::int64_t ld) {
  if (has_block_format(p.types)) return dequantize_block_rows(p, b, begin, end, values, ld);
  const Quantization& q = p.types.b;
  const std::int64_t stored_ld = ld_quantized(p), blocks = stored_ld / q.block;
  for (std::int64_t row = begin; row < end; ++row) {
    const std::uint8_t* const run = bytes(b.values) + bytes_of_b(p.types, row * stored_ld);
    for (std::int64_t block = 0; block < blocks; ++block) {
      const auto zero = static_cast<Real>(zero_point(p, b, row, block));
      const auto scale = static_cast<Real>(element(p.types.a, b.scales, row * blocks + block));
      const std::int64_t first = block * q.block, last = std::min(p.k, first + q.block);
      Real* const target = values + (row - begin) * ld;
      if (q.bits == 8) {
        for (std::int64_t i = first; i < last; ++i)
          target[i] = (static_cast<Real>(run[i]) - zero) * scale;
        continue;
      }
      // Both values of a byte at once: compilers make vectors of that.
      const std::uint8_t* const pairs = run + first / 2;
      for (std::int64_t i = 0; i < (last - first) / 2; ++i) {
        const int pair = pairs[i];
        target[first + 2 * i] = (static_cast<Real>(pair & 0xf) - zero) * scale;
        target[first + 2 * i + 1] = (static_cast<Real>(pair >> 4) - zero) * scale;
      }
      if ((last - first) % 2 != 0)
        target[last - 1] = (static_cast<Real>(pairs[(last - first) / 2] & 0xf) - zero) * scale;
    }
  }
}

}  // namespace

QuantizedBytes quantized_bytes(const Problem& p) {
  const std::int64_t scales =
      has_separate_scales(p.types) ? quantized_blocks(p) * bytes_of(p.types.a) : 0;
  return {.values = bytes_of_b(p.types, matrices_b(p) * p.n * ld_quantized(p)),
          .scales = scales,
          .zero_points = quantization_bytes(p) - scales};
}

double dequantized(const Problem& p, const QuantizedOperand& b, std::int64_t row,
                   std::int64_t step) {
  if (has_block_format(p.types)) {
    UnpackedBlock unpacked;
    const auto [element, group] = unpack_at(p, b, row, step, unpacked);
    return static_cast<double>(unpacked.values[element]) *
               static_cast<double>(unpacked.scales[group]) -
           static_cast<double>(unpacked.minimums[group]);
  }
  const Parts x = parts_of(p, b, row, step);
  return (x.value - x.zero) * x.scale;
}

void dequantized_magnitudes(const Problem& p, const QuantizedOperand& b, std::int64_t row,
                            double* magnitudes) {
  if (!has_block_format(p.types)) {
    for (std::int64_t step = 0; step < p.k; ++step) {
      const Parts x = parts_of(p, b, row, step);
      magnitudes[step] = (x.value + std::abs(x.zero)) * std::abs(x.scale);
    }
    return;
  }
  UnpackedBlock block;
  const int elements = layout_of(p.types.b.format).elements;
  for (std::int64_t first = 0; first < p.k; first += elements) {
    unpack_at(p, b, row, first, block);
    for (float& value : block.values) value = std::abs(value);
    for (float& scale : block.scales) scale = std::abs(scale);
    for (float& minimum : block.minimums) minimum = -std::abs(minimum);
    write_elements(block, std::min<std::int64_t>(elements, p.k - first), magnitudes + first);
  }
}

void dequantize(const Problem& p, const QuantizedOperand& b, std::int64_t begin, std::int64_t end,
                float* values, std::int64_t ld) {
  dequantize_rows(p, b, begin, end, values, ld);
}

void dequantize(const Problem& p, const QuantizedOperand& b, std::int64_t begin, std::int64_t end,
                double* values, std::int64_t ld) {
  dequantize_rows(p, b, begin, end, values, ld);
}

namespace {

void quantize_in_blocks(const Problem& p, const float* values, std::int64_t row_stride,
                        std::int64_t step_stride, std::uint8_t* blocks) {
  const BlockLayout& layout = layout_of(p.types.b.format);
  const BlockReach reach = reach_of(layout.format);
  std::vector<float> of_block(static_cast<std::size_t>(layout.elements));
  for (std::int64_t row = 0; row < p.n; ++row)
    for (std::int64_t first = 0; first < p.k; first += layout.elements) {
      const std::int64_t last = std::min<std::int64_t>(p.k, first + layout.elements);
      const auto value = [&](std::int64_t step) {
        return static_cast<double>(values[row * row_stride + step * step_stride]);
      };
      const Limits of_weights = limits_of(p.types, row, first, last, value);
      // Zero is always among the values of a block.
      const Limits limits = {std::min(of_weights.low, 0.0), std::max(of_weights.high, 0.0)};
      const auto in_block = [&] {
        return fmt::format("rows {} to {} of column {} (k x n) have weights from {} to {}", first,
                           last - 1, row, static_cast<float>(of_weights.low),
                           static_cast<float>(of_weights.high));
      };
      if (limits.low < reach.lowest || limits.high > reach.highest ||
          limits.high - limits.low > reach.widest)
        fail(ErrorCode::kInvalidArgument,
             "{}: a block of {} holds weights from {} to {}{}; scale them", in_block(), layout.name,
             static_cast<float>(reach.lowest), static_cast<float>(reach.highest),
             reach.widest < reach.highest - reach.lowest
                 ? fmt::format(", at most {} apart", static_cast<float>(reach.widest))
                 : "");
      of_block.assign(of_block.size(), 0.0F);
      for (std::int64_t step = first; step < last; ++step)
        of_block[static_cast<std::size_t>(step - first)] = static_cast<float>(value(step));
      quantize_block(layout.format, of_block.data(), blocks);
      if (largest_weight_of_block(layout.format, blocks) > largest_weight(p.types.a))
        fail(ErrorCode::kInvalidArgument,
             "{}: beside A in {} all that a block of {} can hold must lie within {}; use f32",
             in_block(), name(p.types.a), layout.name, largest_weight(p.types.a));
      blocks += layout.bytes;
    }
}

}  // namespace

QuantizedMatrix quantize(const Types& types, std::int64_t rows, std::int64_t k, const float* values,
                         std::int64_t row_stride, std::int64_t step_stride) {
  validate(types);
  if (!quantized(types))
    fail(ErrorCode::kInvalidArgument, "{} has no quantised B", to_string(types));
  const Problem p = packed_problem(1, rows, k, Transpose::kNo, Transpose::kYes, 1, types);
  const Quantization& q = types.b;
  const QuantizedBytes sizes = quantized_bytes(p);
  const std::int64_t ld = ld_quantized(p), blocks = ld / q.block;
  QuantizedMatrix result;
  result.values.resize(static_cast<std::size_t>(sizes.values));
  if (has_block_format(types)) {
    quantize_in_blocks(p, values, row_stride, step_stride, result.values.data());
    return result;
  }
  result.scales.resize(static_cast<std::size_t>(sizes.scales));
  result.zero_points.resize(static_cast<std::size_t>(sizes.zero_points));
  const std::int64_t zero_bytes =
      q.zero_point == ZeroPoint::kPacked ? zero_point_bytes_per_row(q, blocks) : 0;
  const double last_value = (1 << q.bits) - 1;
  for (std::int64_t row = 0; row < rows; ++row) {
    std::uint8_t* const run = result.values.data() + bytes_of_b(types, row * ld);
    const auto value = [&](std::int64_t step) {
      return static_cast<double>(values[row * row_stride + step * step_stride]);
    };
    for (std::int64_t block = 0; block < blocks; ++block) {
      const std::int64_t first = block * q.block, last = std::min(k, first + q.block);
      const auto [low, high] = limits_of(types, row, first, last, value);
      const Steps steps = steps_of(types, low, high);
      const auto put = [&](std::vector<char>& target, double x) {
        const auto single = static_cast<float>(x);
        narrow(types.a, &single, target.data() + (row * blocks + block) * bytes_of(types.a), 1);
      };
      put(result.scales, steps.scale);
      if (q.zero_point == ZeroPoint::kFloat) put(result.zero_points, steps.zero);
      if (q.zero_point == ZeroPoint::kPacked)
        put_packed_value(
            reinterpret_cast<std::uint8_t*>(result.zero_points.data()) + row * zero_bytes, q.bits,
            block, static_cast<int>(steps.zero));
      for (std::int64_t step = first; step < first + q.block; ++step) {
        const double x = step < last && steps.scale != 0 ? value(step) / steps.scale : 0;
        put_packed_value(
            run, q.bits, step,
            static_cast<int>(std::clamp(std::nearbyint(x + steps.zero), 0.0, last_value)));
      }
    }
  }
  return result;
}

}  // namespace rooftile
