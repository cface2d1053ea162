// What happens to a product on its way into C:
//   y = alpha * sum * row_scale[i] * column_scale[j] + beta * C[i][j] + bias
//   C[i][j] := clamp(activation(y) + residual[i][j])
// Each part is optional. Scales and bias are float32 vectors that all products of a batch share,
// the residual is a matrix like C.
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <string_view>

namespace rooftile {

/// One bias a row of C (a vector of m), or one a column (of n).
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
  // Of clamp. Not part of what is compiled.
  float low = -std::numeric_limits<float>::infinity();
  float high = std::numeric_limits<float>::infinity();

  bool operator==(const Epilogue&) const = default;
};

/// Whether anything is left to do after the product.
bool any(const Epilogue& e);
/// The same with the numbers that are not compiled in at their defaults.
Epilogue compiled_part(const Epilogue& e);
/// For C seen transposed: rows and columns change places.
Epilogue transposed(const Epilogue& e);

/// "bias_column+gelu_erf+residual", parts in the order in which they happen; "" for none.
std::string to_string(const Epilogue& e);
/// Throws kInvalidArgument, listing the parts, for an unknown or repeated one.
Epilogue parse_epilogue(std::string_view text);

/// The definition in float64; sum is alpha * (product) with its scales not yet applied, old is
/// beta * C. Vectors that the epilogue does not use are ignored.
struct EpilogueValues {
  double row_scale = 1, column_scale = 1, bias = 0, residual = 0;
};
double apply(const Epilogue& e, const EpilogueValues& values, double sum, double old);
double activate(Activation activation, double x);
/// Largest slope of an activation: what it makes of an error before it.
double largest_slope(Activation activation);

}  // namespace rooftile
