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

/// Integers as wide as a float. The bits of |x| have the same order as |x|; infinity and NaN come
/// last.
template <typename Real>
struct WordsOf;
template <>
struct WordsOf<float> {
  using Bits = std::uint32_t;
  using Whole = std::int32_t;
};
template <>
struct WordsOf<double> {
  using Bits = std::uint64_t;
  using Whole = std::int64_t;
};
template <typename Real>
using BitsOf = typename WordsOf<Real>::Bits;

template <typename Real>
constexpr auto kInfinityBits = std::bit_cast<BitsOf<Real>>(std::numeric_limits<Real>::infinity());
// From 2^23 on every float32 is an integer, from 2^52 on every float64.
template <typename Real>
constexpr auto kAlwaysWhole = std::bit_cast<BitsOf<Real>>(Real{1} /
                                                          std::numeric_limits<Real>::epsilon());

template <typename Real>
struct Bits {
  BitsOf<Real> finite = 0, all = 0;  // Largest magnitudes.
  BitsOf<Real> fractions = 0;        // Not 0: some elements have a fraction.
};

template <typename Real>
Bits<Real> bits_of(const Real* x, std::int64_t count) {
  using Whole = typename WordsOf<Real>::Whole;
  Bits<Real> bits;
  for (std::int64_t i = 0; i < count; ++i) {
    const auto magnitude = std::bit_cast<BitsOf<Real>>(x[i]) << 1 >> 1;
    bits.all = std::max(bits.all, magnitude);
    bits.finite = std::max(bits.finite, magnitude < kInfinityBits<Real> ? magnitude : 0);
    const Real small = magnitude < kAlwaysWhole<Real> ? x[i] : 0;
    bits.fractions |= static_cast<Real>(static_cast<Whole>(small)) != small ? 1u : 0u;
  }
  return bits;
}

template <typename Real>
Bits<Real> joined(const Bits<Real>& x, const Bits<Real>& y) {
  return {std::max(x.finite, y.finite), std::max(x.all, y.all), x.fractions | y.fractions};
}

/// Real: double for float64, else float.
template <typename Real>
Bits<Real> bits_of_row(DataType type, const char* row, std::int64_t count) {
  if (type == DataType::kF32 || type == DataType::kF64)
    return bits_of(reinterpret_cast<const Real*>(row), count);
  Bits<Real> bits;
  std::array<Real, 1024> wide;
  for (std::int64_t begin = 0; begin < count; begin += std::ssize(wide)) {
    const std::int64_t part = std::min<std::int64_t>(std::ssize(wide), count - begin);
    widen(type, row + begin * bytes_of(type), wide.data(), part);
    bits = joined(bits, bits_of(wide.data(), part));
  }
  return bits;
}

bool is_float(DataType type) { return !is_8_bit(type) && type != DataType::kI32; }

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
         : sum_type(types) == DataType::kF64
             ? std::numeric_limits<double>::max()
             : static_cast<double>(std::numeric_limits<float>::max());
}

template <typename Real>
Range range_in(DataType type, Extent extent, const void* matrix, std::int64_t ld) {
  Bits<Real> bits;
  std::mutex mutex;
  parallel_ranges(extent.rows, kElementsPerThread / extent.columns + 1,
                  [&](std::int64_t begin, std::int64_t end) {
                    Bits<Real> here;
                    for (std::int64_t row = begin; row < end; ++row)
                      here = joined(here, bits_of_row<Real>(type,
                                                            static_cast<const char*>(matrix) +
                                                                row * ld * bytes_of(type),
                                                            extent.columns));
                    const std::lock_guard lock(mutex);
                    bits = joined(bits, here);
                  });
  return {.largest = std::bit_cast<Real>(bits.finite),
          .finite = bits.all < kInfinityBits<Real>,
          .whole = bits.fractions == 0};
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
Rounding permitted_rounding(const Guard& guard) {
  if (guard.kappa != 0) return Rounding::kNone;
  const Precision precision = precision_of(guard);
  return precision == Precision::kInt8   ? Rounding::kInt8
         : precision == Precision::kHalf ? Rounding::kHalf
                                         : Rounding::kNone;
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
  return type == DataType::kF64 ? range_in<double>(type, extent, matrix, ld)
                                : range_in<float>(type, extent, matrix, ld);
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
  // The host sums float64 as the device does.
  if (!is_float(types.a) || quantized(types) || sum_type(types) == DataType::kF64)
    return std::nullopt;
  const double products = a.largest * b.largest * static_cast<double>(p.k);
  const double bound = std::abs(p.alpha) * products + std::abs(p.beta) * c.largest;
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
  const bool float64 = is_float64(p.types);
  const int digits = float64 ? 17 : 9;
  const double standard = float64 ? 0 : kStandardTolerance;
  const double tolerance = precision_ == Precision::kHigh && !float64 ? kHighTolerance : standard;
  for (int spot = 0; spot < kSpots; ++spot) {
    const std::int64_t i = any_of(p.batch), row = any_of(p.m), column = any_of(p.n);
    const double c0 = p.beta != 0.0f ? element(p.types.c, call.c_of(i), row * p.ldc + column) : 0.0;
    const ReferenceElement expected = reference_element(
        p, ReferenceOperands{call.a_of(i), call.b_of(i), call.scales, call.zero_points}, c0,
        epilogue_values(p, call.epilogue, i, row, column), row, column);
    const double computed = element(p.types.c, result, i * stride + row * ld + column);
    if (p.types.c == DataType::kI32 ? same_wrapped(expected.value, computed)
                                    : error_ratio(p, expected, computed) == 0)
      continue;
    const double bound = error_bound(p, expected);
    const double error = std::abs(computed - expected.value);
    // Additional error of a correct result: from sums or operands in fewer bits (not for kHigh),
    // or from the rounding to C's type.
    const bool float32 = sum_type(p.types) == DataType::kF32 && p.types.c == DataType::kF32 &&
                         p.types.rounding == Rounding::kNone;
    const double besides = precision_ == Precision::kHigh && !float64 ? rounding_bound(p, expected)
                           : float32                                  ? 0
                                                                      : bound;
    const double allowed = (tolerance > 0 ? tolerance * expected.magnitude : 0) + besides;
    if (error <= allowed) continue;
    // Sums beyond the range of their type are infinite in every kernel, and operands that are not
    // finite say nothing about it.
    const double scale = p.alpha == 0 ? 1 : std::min(1.0, std::abs(p.alpha));
    const bool may_overflow = !(expected.magnitude / scale < largest_sum(p.types));
    return Mismatch{
        .what = fmt::format("element ({}, {}){} of {} is {:.{}g}, but {:.{}g} is right: the "
                            "difference is {:.2g} of the "
                            "sum of magnitudes, {:.2g} is allowed",
                            row, column, p.batch > 1 ? fmt::format(" of product {}", i) : "",
                            to_string(p), computed, digits, expected.value, digits,
                            error / expected.magnitude, allowed / expected.magnitude),
        .wrong = !may_overflow &&
                 !(error <= std::max(bound, standard > 0 ? standard * expected.magnitude : 0))};
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
