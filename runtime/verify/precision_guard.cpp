#include "runtime/verify/precision_guard.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>
#include <mutex>

#include "core/half.h"
#include "core/numbers/random.h"
#include "runtime/support/parallel.h"
#include "runtime/verify/reference.h"

namespace rooftile {
namespace {

// Condition number from which on float32's seven digits are too few.
constexpr double kIllConditioned = 1000;
constexpr double kCacheLineBytes = 64;
constexpr double kStandardTolerance = 1e-4, kHighTolerance = 1e-6;
// float32 holds every integer up to this magnitude.
constexpr double kLargestExactInteger = 0x1p24;
constexpr std::int64_t kElementsPerThread = 1 << 18;

// The bits of |x| have the same order as |x|; infinity and NaN come last.
constexpr std::uint32_t kMagnitude = 0x7fffffff, kInfinityBits = 0x7f800000;
// From 2^23 on every float32 is an integer.
constexpr std::uint32_t kAlwaysWhole = 0x4b000000;

struct Bits {
  std::uint32_t finite = 0, all = 0;  // Largest magnitudes.
  std::uint32_t fractions = 0;        // Not 0: some elements have a fraction.
};

Bits bits_of(const float* x, std::int64_t count) {
  Bits bits;
  for (std::int64_t i = 0; i < count; ++i) {
    const std::uint32_t magnitude = std::bit_cast<std::uint32_t>(x[i]) & kMagnitude;
    bits.all = std::max(bits.all, magnitude);
    bits.finite = std::max(bits.finite, magnitude < kInfinityBits ? magnitude : 0);
    const float small = magnitude < kAlwaysWhole ? x[i] : 0.0f;
    bits.fractions |= static_cast<float>(static_cast<std::int32_t>(small)) != small ? 1u : 0u;
  }
  return bits;
}

Bits joined(const Bits& x, const Bits& y) {
  return {std::max(x.finite, y.finite), std::max(x.all, y.all), x.fractions | y.fractions};
}

Bits bits_of_row(DataType type, const char* row, std::int64_t count) {
  if (type == DataType::kF32) return bits_of(reinterpret_cast<const float*>(row), count);
  Bits bits;
  std::array<float, 1024> wide;
  for (std::int64_t begin = 0; begin < count; begin += std::ssize(wide)) {
    const std::int64_t part = std::min<std::int64_t>(std::ssize(wide), count - begin);
    widen(type, row + begin * bytes_of(type), wide.data(), part);
    bits = joined(bits, bits_of(wide.data(), part));
  }
  return bits;
}

bool is_float(DataType type) {
  return type == DataType::kF32 || type == DataType::kF16 || type == DataType::kBf16;
}

Range joined(const Range& x, const Range& y) {
  return {std::max(x.largest, y.largest), x.finite && y.finite, x.whole && y.whole};
}

/// Range over all matrices of a batch; a shared matrix is scanned once.
template <typename MatrixOf>
Range range_of_batch(const Problem& p, DataType type, Extent extent, std::int64_t ld,
                     const MatrixOf& matrix_of) {
  Range all = range(type, extent, matrix_of(0), ld);
  for (std::int64_t i = 1; i < p.batch; ++i)
    if (matrix_of(i) != matrix_of(i - 1)) all = joined(all, range(type, extent, matrix_of(i), ld));
  return all;
}

double largest_sum(const Types& types) {
  return sum_type(types) == DataType::kF16 ? 65504.0
                                           : static_cast<double>(std::numeric_limits<float>::max());
}

/// Compares modulo 2^32, because 32-bit sums wrap around.
bool same_wrapped(double wanted, double computed) {
  return static_cast<std::uint32_t>(static_cast<std::int64_t>(wanted)) ==
         static_cast<std::uint32_t>(static_cast<std::int64_t>(computed));
}

}  // namespace

Precision precision_of(const Guard& guard) {
  return guard.precision.value_or(Precision::kStandard);
}
bool needs_float64(const Guard& guard) {
  return precision_of(guard) == Precision::kExact64 ||
         (precision_of(guard) != Precision::kRelaxed && guard.kappa >= kIllConditioned);
}
bool scans(const Guard& guard) {
  return guard.scan_range || precision_of(guard) == Precision::kHigh;
}
bool checks_spots(const Guard& guard) {
  return guard.check_spots || precision_of(guard) == Precision::kHigh;
}
bool is_guarded(const Guard& guard) {
  return needs_float64(guard) || scans(guard) || checks_spots(guard);
}

Range range(DataType type, Extent extent, const void* matrix, std::int64_t ld) {
  if (!is_float(type) || extent.columns == 0) return {};
  Bits bits;
  std::mutex mutex;
  parallel_ranges(
      extent.rows, kElementsPerThread / extent.columns + 1,
      [&](std::int64_t begin, std::int64_t end) {
        Bits here;
        for (std::int64_t row = begin; row < end; ++row)
          here = joined(
              here, bits_of_row(type, static_cast<const char*>(matrix) + row * ld * bytes_of(type),
                                extent.columns));
        const std::lock_guard lock(mutex);
        bits = joined(bits, here);
      });
  return {.largest = std::bit_cast<float>(bits.finite),
          .finite = bits.all < kInfinityBits,
          .whole = bits.fractions == 0};
}

std::optional<RangeRefusal> range_refusal(const GemmCall& call) {
  const Problem& p = call.problem;
  const Types& types = p.types;
  const bool reads = reads_operands(p);
  Range a, b, c;
  if (reads)
    a = range_of_batch(p, types.a, stored_a(p), p.lda, [&](auto i) { return call.a_of(i); });
  if (reads && !quantized(types))
    b = range_of_batch(p, types.a, stored_b(p), p.ldb, [&](auto i) { return call.b_of(i); });
  if (p.beta != 0.0f)
    c = range_of_batch(p, types.c, {p.m, p.n}, p.ldc, [&](auto i) { return call.c_of(i); });
  for (const auto& [name, range] : {std::pair('A', a), std::pair('B', b), std::pair('C', c)})
    if (!range.finite) return RangeRefusal{false, fmt::format("{} holds infinity or NaN", name)};
  if (!is_float(types.a) || quantized(types)) return std::nullopt;
  const double products = a.largest * b.largest * static_cast<double>(p.k);
  const double bound = std::abs(static_cast<double>(p.alpha)) * products +
                       std::abs(static_cast<double>(p.beta)) * c.largest;
  if (const double most = largest_sum(types); std::max(bound, products) > most)
    return RangeRefusal{true,
                        fmt::format("sums may reach {:.3g}, past the {:.3g} that their type holds",
                                    std::max(bound, products), most)};
  if (reads && a.whole && b.whole && products > kLargestExactInteger)
    return RangeRefusal{
        true, fmt::format("A and B hold integers whose sums may reach {:.3g}, past the 2^24 up to "
                          "which float32 holds all",
                          products)};
  return std::nullopt;
}

double scanned_bytes(const Problem& p) {
  if (!is_float(p.types.a)) return 0;
  const double batch = static_cast<double>(p.batch);
  const auto matrix = [&](std::int64_t rows, std::int64_t columns, DataType type, double count) {
    return count * static_cast<double>(rows * columns * bytes_of(type));
  };
  return matrix(p.m, p.k, p.types.a, p.stride_a == 0 ? 1 : batch) +
         (quantized(p.types) ? 0 : matrix(p.k, p.n, p.types.a, p.stride_b == 0 ? 1 : batch)) +
         (p.beta != 0.0f ? matrix(p.m, p.n, p.types.c, batch) : 0);
}

std::optional<Mismatch> SpotCheck::mismatch(const GemmCall& call, const void* result,
                                            std::int64_t ld, std::int64_t stride) const {
  const Problem& p = call.problem;
  Random random(seed_);
  const auto any_of = [&](std::int64_t count) {
    return static_cast<std::int64_t>(random.below(static_cast<std::uint64_t>(count)));
  };
  const double tolerance = precision_ == Precision::kHigh ? kHighTolerance : kStandardTolerance;
  for (int spot = 0; spot < kSpots; ++spot) {
    const std::int64_t i = any_of(p.batch), row = any_of(p.m), column = any_of(p.n);
    const double c0 = p.beta != 0.0f ? element(p.types.c, call.c_of(i), row * p.ldc + column) : 0.0;
    const ReferenceElement expected = reference_element(
        p, ReferenceOperands{call.a_of(i), call.b_of(i), call.scales, call.zero_points}, c0,
        epilogue_values(p.epilogue, call.epilogue, i, row, column), row, column);
    const double computed = element(p.types.c, result, i * stride + row * ld + column);
    if (p.types.c == DataType::kI32 ? same_wrapped(expected.value, computed)
                                    : error_ratio(p, expected, computed) == 0)
      continue;
    const double bound = error_bound(p, expected);
    const double error = std::abs(computed - expected.value);
    // Additional error of a correct result: from sums in fewer bits (not for kHigh), or from the
    // rounding to C's type.
    const bool float32 = sum_type(p.types) == DataType::kF32 && p.types.c == DataType::kF32;
    const double besides = precision_ == Precision::kHigh ? rounding_bound(p, expected)
                           : float32                      ? 0
                                                          : bound;
    const double allowed = tolerance * expected.magnitude + besides;
    if (error <= allowed) continue;
    // Sums beyond the range of their type are infinite in every kernel, and operands that are not
    // finite say nothing about it.
    const double scale = p.alpha == 0.0f ? 1 : std::min(1.0, std::abs(double{p.alpha}));
    const double largest_sum =
        sum_type(p.types) == DataType::kF16 ? 65504 : double{std::numeric_limits<float>::max()};
    const bool may_overflow = !(expected.magnitude / scale < largest_sum);
    return Mismatch{
        .what = fmt::format("element ({}, {}){} of {} is {:.9g}, but {:.9g} is right: the "
                            "difference is {:.2g} of the "
                            "sum of magnitudes, {:.2g} is allowed",
                            row, column, p.batch > 1 ? fmt::format(" of product {}", i) : "",
                            to_string(p), computed, expected.value, error / expected.magnitude,
                            allowed / expected.magnitude),
        .wrong =
            !may_overflow && !(error <= std::max(bound, kStandardTolerance * expected.magnitude))};
  }
  return std::nullopt;
}

double checked_bytes(const Problem& p) {
  const double element_bytes = static_cast<double>(bytes_of(p.types.a));
  const double k = static_cast<double>(p.k);
  const double bytes_a = p.trans_a == Transpose::kYes ? kCacheLineBytes : element_bytes;
  const double bytes_b = p.trans_b == Transpose::kYes ? element_bytes : kCacheLineBytes;
  return SpotCheck::kSpots * k * (bytes_a + bytes_b);
}

}  // namespace rooftile
