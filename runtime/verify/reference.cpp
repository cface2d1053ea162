#include "runtime/verify/reference.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "core/half.h"
#include "core/quantized.h"

namespace rooftile {

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

struct Sum {
  long double value = 0, magnitude = 0;
  long double inputs = 0;    // of |a| + |b|
  long double rounding = 0;  // ReferenceElement::rounding
};

/// An element of B, and the magnitude of the terms that it was computed from.
struct Term {
  double value, magnitude;
};

/// Adds the products of a(l), a double, and b(l), a Term, over k steps.
template <typename Real, typename A, typename B>
Sum sum_in(std::int64_t k, const A& a, const B& b) {
  Real value = 0, magnitude = 0, inputs = 0;
  for (std::int64_t l = 0; l < k; ++l) {
    const Real x = a(l);
    const Term term = b(l);
    const Real y = term.value, size_y = term.magnitude;
    value += x * y;
    magnitude += std::abs(x) * size_y;
    inputs += std::abs(x) + size_y;
  }
  return {value, magnitude, inputs};
}

/// ReferenceElement::rounding without factors.
template <typename A, typename B>
double rounding_sum(std::int64_t k, const A& a, const B& b) {
  double sum = 0;
  for (std::int64_t first = 0; first < k; first += kRoundedSteps) {
    double largest = 0, of_b = 0;
    for (std::int64_t l = first; l < std::min(first + kRoundedSteps, k); ++l) {
      // A NaN counts as an infinity: std::max would drop it.
      largest = std::max(largest, std::isfinite(a(l)) ? std::abs(a(l)) : kInfinity);
      of_b += std::abs(b(l).value);
    }
    sum += largest / 254 * of_b;
  }
  return sum;
}
bool has_float64_sums(const Problem& p) { return sum_type(p.types) == DataType::kF64; }

/// Float64 sums are compared with long double: of 64 bits (x86-64) or 113.
template <typename A, typename B>
Sum sum_of(const Problem& p, const A& a, const B& b) {
  static_assert(std::numeric_limits<long double>::digits >= 64);
  if (has_float64_sums(p)) return sum_in<long double>(p.k, a, b);
  Sum sum = sum_in<double>(p.k, a, b);
  if (p.types.rounding == Rounding::kInt8) sum.rounding = rounding_sum(p.k, a, b);
  return sum;
}

/// Elements of one column of op(B), and the magnitudes of the terms that they are computed from.
class Column {
 public:
  Column(const Problem& p, const ReferenceOperands& operands, std::int64_t column)
      : type_(p.types.a), b_(operands.b) {
    if (quantized(p.types)) {
      const QuantizedOperand b = {operands.b, operands.scales, operands.zero_points};
      values_.resize(static_cast<std::size_t>(p.k));
      magnitudes_.resize(values_.size());
      dequantize(p, b, column, column + 1, values_.data(), p.k);
      // Subtracting a float zero point is rounded and may cancel.
      dequantized_magnitudes(p, b, column, magnitudes_.data());
      return;
    }
    const bool transposed = p.trans_b == Transpose::kYes;
    first_ = transposed ? column * p.ldb : column;
    step_ = transposed ? 1 : p.ldb;
  }
  Term at(std::int64_t l) const {
    if (!values_.empty())
      return {values_[static_cast<std::size_t>(l)], magnitudes_[static_cast<std::size_t>(l)]};
    const double value = element(type_, b_, first_ + l * step_);
    return {value, std::abs(value)};
  }

 private:
  DataType type_;
  const void* b_;
  std::int64_t first_ = 0, step_ = 0;
  std::vector<double> values_, magnitudes_;  // of a quantised B
};

Sum scaled(const Problem& p, Sum sum) {
  sum.value *= p.alpha;
  sum.magnitude *= std::abs(p.alpha);
  sum.inputs *= std::abs(p.alpha);
  sum.rounding *= std::abs(p.alpha);
  return sum;
}

Sum product_sum(const Problem& p, const ReferenceOperands& operands, std::int64_t row,
                std::int64_t column) {
  if (p.alpha == 0) return {};
  const std::int64_t step_a = p.trans_a == Transpose::kYes ? p.lda : 1;
  const std::int64_t x = p.trans_a == Transpose::kYes ? row : row * p.lda;
  const Column b(p, operands, column);
  return scaled(
      p, sum_of(
             p, [&](std::int64_t l) { return element(p.types.a, operands.a, x + l * step_a); },
             [&](std::int64_t l) { return b.at(l); }));
}

Sum product_sum(const Problem& p, const WideOperands& operands, std::int64_t row,
                std::int64_t column) {
  if (p.alpha == 0) return {};
  const double* const a = operands.a.data() + row * p.k;
  const double* const b = operands.b.data() + column * p.k;
  const double* const size_b = operands.size_b.data() + column * p.k;
  return scaled(p, sum_of(
                       p, [&](std::int64_t l) { return a[l]; },
                       [&](std::int64_t l) {
                         return Term{b[l], size_b[l]};
                       }));
}

ReferenceElement with_epilogue(const Problem& p, const Sum& sum, double c0,
                               const EpilogueValues& values) {
  const long double old = p.beta != 0 ? static_cast<long double>(p.beta) * c0 : 0;
  const Epilogue& e = p.epilogue;
  // The products of float64 values may lie beyond float64.
  const ValuesOf<long double> wide = {values.row_scale, values.column_scale, values.bias,
                                      values.residual};
  const long double scale =
      (e.row_scale ? wide.row_scale : 1) * (e.column_scale ? wide.column_scale : 1);
  const long double bias = e.bias != Bias::kNone ? wide.bias : 0;
  const long double before = std::abs(scale) * sum.magnitude + std::abs(old) + std::abs(bias);
  // Magnitudes of a float64 sum may be beyond float64.
  const auto finite = [](long double x) {
    return static_cast<double>(std::min<long double>(x, std::numeric_limits<double>::max()));
  };
  const double value = has_float64_sums(p) ? static_cast<double>(apply(e, wide, sum.value, old))
                                           : apply(e, values, static_cast<double>(sum.value),
                                                   static_cast<double>(old));
  const double slope = largest_slope(e.activation);
  return {value, finite(slope * before + (e.residual ? std::abs(values.residual) : 0)),
          finite(slope * std::abs(scale) * sum.inputs),
          // A scale may be infinite.
          p.types.rounding == Rounding::kInt8
              ? static_cast<double>(slope * std::abs(scale) * sum.rounding)
              : 0};
}

/// Returns gamma_n, or twice its linear approximation where gamma_n is not defined.
double gamma(double n, double unit_roundoff) {
  const double nu = n * unit_roundoff;
  return nu < 0.5 ? nu / (1 - nu) : 2 * nu;
}

struct RoundingToC {
  double relative, smallest_normal, largest;
};
/// Sums in float32 round to a C in float32 as they are added.
RoundingToC rounding_to_c(const Types& types) {
  switch (types.c) {
    case DataType::kF16:
      return {0x1p-10, 0x1p-14, 65504};
    case DataType::kBf16:
      return {0x1p-7, 0x1p-126, 0x1.fep127};
    case DataType::kF32:
      if (widens_sums(types)) return {0x1p-23, 0x1p-126, std::numeric_limits<float>::max()};
      [[fallthrough]];
    default:
      return {0, 0, kInfinity};
  }
}

}  // namespace

WideOperands widen(const Problem& p, const ReferenceOperands& operands) {
  WideOperands wide;
  wide.a.reserve(static_cast<std::size_t>(p.m * p.k));
  wide.b.reserve(static_cast<std::size_t>(p.n * p.k));
  wide.size_b.reserve(static_cast<std::size_t>(p.n * p.k));
  for (std::int64_t row = 0; row < p.m; ++row)
    for (std::int64_t l = 0; l < p.k; ++l)
      wide.a.push_back(element(p.types.a, operands.a,
                               p.trans_a == Transpose::kYes ? l * p.lda + row : row * p.lda + l));
  for (std::int64_t column = 0; column < p.n; ++column) {
    const Column b(p, operands, column);
    for (std::int64_t l = 0; l < p.k; ++l) {
      const Term y = b.at(l);
      wide.b.push_back(y.value);
      wide.size_b.push_back(y.magnitude);
    }
  }
  return wide;
}

ReferenceElement reference_element(const Problem& p, const WideOperands& operands, double c0,
                                   const EpilogueValues& values, std::int64_t row,
                                   std::int64_t column) {
  return with_epilogue(p, product_sum(p, operands, row, column), c0, values);
}

ReferenceElement reference_element(const Problem& p, const ReferenceOperands& operands, double c0,
                                   const EpilogueValues& values, std::int64_t row,
                                   std::int64_t column) {
  return with_epilogue(p, product_sum(p, operands, row, column), c0, values);
}

double error_bound(const Problem& p, const ReferenceElement& expected) {
  if (p.types.c == DataType::kI32) return 0;
  constexpr double kEpilogueRoundings = 24, kOuterRoundings = 3;  // alpha, beta, the last addition.
  constexpr double kQuantizedRoundings = 4;  // Zero point, scale, a block's sum.
  constexpr double kReferenceRoundings = 1;  // The last one, to float64.
  const DataType sums = sum_type(p.types);
  const bool float64 = has_float64_sums(p);
  const double steps = static_cast<double>(p.k) + (quantized(p.types) ? kQuantizedRoundings : 0);
  const double outer = kOuterRoundings + (any(p.epilogue) ? kEpilogueRoundings : 0) +
                       (float64 ? kReferenceRoundings : 0);
  const double n = outer + (sums == DataType::kF32 || float64 ? steps : 1);
  const double unit = float64 ? 0x1p-53 : 0x1p-24, least = float64 ? 0x1p-1022 : 0x1p-126;
  double bound = gamma(n, unit) * expected.magnitude + (n + expected.inputs) * least;
  if (sums == DataType::kF16)
    bound += gamma(steps + 1, 0x1p-11) * expected.magnitude + (steps + 1) * 0x1p-14;
  // A quantised B may be rounded to half precision, the type of A, before it is multiplied (|A| up
  // to 1).
  if (quantized(p.types) && p.types.a == DataType::kF16 && !float64)
    bound += 0x1p-11 * expected.magnitude + steps * 0x1p-24;
  if (p.types.rounding == Rounding::kHalf) bound += 0x1p-10 * expected.magnitude;
  // Float32 computes from the rounded A, which may be larger, and rounds the scale and its inverse.
  bound += (1 + gamma(n, unit) + 0x1p-13) * expected.rounding;
  const RoundingToC c = rounding_to_c(p.types);
  return bound + c.relative * (std::abs(expected.value) + bound) + c.smallest_normal;
}

double rounding_bound(const Problem& p, const ReferenceElement& expected) {
  const RoundingToC c = rounding_to_c(p.types);
  return c.relative * std::abs(expected.value) + c.smallest_normal;
}

double error_ratio(const Problem& p, const ReferenceElement& expected, double computed) {
  const double wanted = expected.value;
  if (!std::isfinite(expected.rounding)) return std::isfinite(computed) ? kInfinity : 0.0;
  if (std::isnan(wanted)) return std::isnan(computed) ? 0.0 : kInfinity;
  if (std::isinf(wanted)) return computed == wanted ? 0.0 : kInfinity;
  const double bound = error_bound(p, expected);
  const double error = std::abs(computed - wanted);
  if (std::isinf(computed) && std::signbit(computed) == std::signbit(wanted)) {
    const RoundingToC c = rounding_to_c(p.types);
    return (std::abs(wanted) + bound) * (1 + c.relative) >= c.largest ? 0.0 : kInfinity;
  }
  if (!std::isfinite(computed)) return kInfinity;
  return error == 0 ? 0.0 : error / bound;
}

}  // namespace rooftile
