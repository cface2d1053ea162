// The operations that are fused behind the matrix product, before C is stored:
//   y = alpha * sum * row_scale[i] * column_scale[j] + beta * C[i][j] + bias
//   C[i][j] := clamp(activation(y) + residual[i][j])
// Each operation is optional. Scales and bias are vectors that all GEMMs of a batch share; the
// residual is a matrix with the shape of C. All are float32, or float64 beside float64 operands
// (epilogue_type).
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>
#include <numbers>
#include <string>
#include <string_view>

namespace rooftile {

/// One bias for each row of C (a vector of m values) or for each column (n values).
enum class Bias : std::uint8_t { kNone, kRow, kColumn };
/// gelu_erf is x/2 (1 + erf(x / sqrt 2)), gelu_tanh its approximation x/2 (1 + tanh(sqrt(2/pi)
/// (x + 0.044715 x^3))), silu x / (1 + exp(-x)).
enum class Activation : std::uint8_t { kNone, kRelu, kGeluErf, kGeluTanh, kSilu };

struct Epilogue {
  bool row_scale = false, column_scale = false;
  Bias bias = Bias::kNone;
  Activation activation = Activation::kNone;
  bool residual = false;
  bool clamp = false;
  // The limits of clamp, float32 but for float64 operands. They are push constants, so kernels do
  // not depend on them.
  double low = -std::numeric_limits<double>::infinity();
  double high = std::numeric_limits<double>::infinity();

  bool operator==(const Epilogue&) const = default;
};

/// Whether there is any operation after the product.
bool any(const Epilogue& e);
/// The part that is compiled into kernels: values that are push constants have their defaults.
Epilogue compiled_part(const Epilogue& e);
/// The same epilogue for C transposed: rows and columns are exchanged.
Epilogue transposed(const Epilogue& e);

/// "bias_column+gelu_erf+residual", the operations in the order in which they are applied; "" for
/// none.
std::string to_string(const Epilogue& e);
/// Throws kInvalidArgument, listing the parts, for an unknown or repeated one.
Epilogue parse_epilogue(std::string_view text);

/// Real: float, double or long double. NaN stays NaN. 1 + erf(y) and (1 + tanh(y)) / 2 have forms
/// that do not cancel where y is negative.
template <typename Real>
Real activate(Activation activation, Real x) {
  constexpr Real kSqrt2ByPi = 0.797884560802865355879892119868763737L;
  switch (activation) {
    case Activation::kRelu:
      return x < 0 ? 0 : x;
    case Activation::kGeluErf:
      return Real(0.5) * x * std::erfc(-x / std::numbers::sqrt2_v<Real>);
    case Activation::kGeluTanh:
      return x / (1 + std::exp(-2 * kSqrt2ByPi * (x + Real(0.044715L) * x * x * x)));
    case Activation::kSilu:
      return x / (1 + std::exp(-x));
    case Activation::kNone:
      break;
  }
  return x;
}

/// Values that belong to one element of C. Those that the epilogue does not use are ignored.
template <typename Real>
struct ValuesOf {
  Real row_scale = 1, column_scale = 1, bias = 0, residual = 0;
};
using EpilogueValues = ValuesOf<double>;

/// The definition. sum is alpha * (product) with its scales not yet applied, old is beta * C.
template <typename Real>
Real apply(const Epilogue& e, const ValuesOf<Real>& values, Real sum, Real old) {
  Real y = sum;
  if (e.row_scale) y *= values.row_scale;
  if (e.column_scale) y *= values.column_scale;
  y += old;
  if (e.bias != Bias::kNone) y += values.bias;
  y = activate(e.activation, y);
  if (e.residual) y += values.residual;
  if (e.clamp) {
    const Real low = static_cast<Real>(e.low), high = static_cast<Real>(e.high);
    y = y < low ? low : y > high ? high : y;
  }
  return y;
}
/// The largest slope of an activation, which bounds how it amplifies an error of its argument.
double largest_slope(Activation activation);

}  // namespace rooftile
