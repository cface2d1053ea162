#include "tuner/reference.h"

#include <cmath>
#include <limits>

#include "core/half.h"

namespace rooftile {

namespace {

struct Sum {
  double value = 0, magnitude = 0;
};

Sum product_sum(const Problem& p, const void* a, const void* b, std::int64_t row,
                std::int64_t column) {
  Sum sum;
  if (p.alpha == 0.0f) return sum;
  const std::int64_t step_a = p.trans_a == Transpose::kYes ? p.lda : 1;
  const std::int64_t step_b = p.trans_b == Transpose::kYes ? 1 : p.ldb;
  const std::int64_t x = p.trans_a == Transpose::kYes ? row : row * p.lda;
  const std::int64_t y = p.trans_b == Transpose::kYes ? column * p.ldb : column;
  for (std::int64_t l = 0; l < p.k; ++l) {
    const double product = static_cast<double>(element(p.type, a, x + l * step_a)) *
                           static_cast<double>(element(p.type, b, y + l * step_b));
    sum.value += product;
    sum.magnitude += std::abs(product);
  }
  sum.value *= static_cast<double>(p.alpha);
  sum.magnitude *= std::abs(static_cast<double>(p.alpha));
  return sum;
}

}  // namespace

ReferenceElement reference_element(const Problem& p, const void* a, const void* b, float c0,
                                   std::int64_t row, std::int64_t column) {
  return reference_element(p, a, b, c0, {}, row, column);
}

ReferenceElement reference_element(const Problem& p, const void* a, const void* b, float c0,
                                   const EpilogueValues& values, std::int64_t row,
                                   std::int64_t column) {
  const Sum sum = product_sum(p, a, b, row, column);
  const double old = p.beta != 0.0f ? static_cast<double>(p.beta) * static_cast<double>(c0) : 0.0;
  const Epilogue& e = p.epilogue;
  const double scale =
      (e.row_scale ? values.row_scale : 1) * (e.column_scale ? values.column_scale : 1);
  const double bias = e.bias != Bias::kNone ? values.bias : 0;
  const double before = std::abs(scale) * sum.magnitude + std::abs(old) + std::abs(bias);
  return {apply(e, values, sum.value, old),
          largest_slope(e.activation) * before + (e.residual ? std::abs(values.residual) : 0)};
}

std::int64_t roundings(const Problem& p) {
  return p.k + (any(p.epilogue) ? kEpilogueRoundings : 0);
}

double error_bound(std::int64_t k, double magnitude) {
  constexpr double kUnitRoundoff = 0x1p-24;
  const double n = static_cast<double>(k + 3);  // the sum, alpha, beta and the final addition
  const double nu = n * kUnitRoundoff;
  // Past k = 2^23 the worst-case bound says nothing; twice the linear term is what it approaches
  // from below there.
  const double gamma = nu < 0.5 ? nu / (1 - nu) : 2 * nu;
  return gamma * magnitude + n * static_cast<double>(std::numeric_limits<float>::min());
}

double error_ratio(std::int64_t k, ReferenceElement expected, float computed) {
  const double got = static_cast<double>(computed);
  if (std::isnan(expected.value))
    return std::isnan(got) ? 0.0 : std::numeric_limits<double>::infinity();
  if (std::isinf(expected.value))
    return got == expected.value ? 0.0 : std::numeric_limits<double>::infinity();
  if (!std::isfinite(got)) return std::numeric_limits<double>::infinity();
  return std::abs(got - expected.value) / error_bound(k, expected.magnitude);
}

}  // namespace rooftile
