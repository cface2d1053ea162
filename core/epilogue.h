// The operations that are fused behind the matrix product, before C is stored:
//   y = alpha * sum * row_scale[i] * column_scale[j] + beta * C[i][j] + bias
//   C[i][j] := clamp(activation(y) + residual[i][j])
// Each operation is optional. Scales and bias are float32 vectors that all GEMMs of a batch share;
// the residual is a matrix with the shape of C.
#pragma once

#include <cstdint>
#include <limits>
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
  // The limits of clamp are push constants, so kernels do not depend on them.
  float low = -std::numeric_limits<float>::infinity();
  float high = std::numeric_limits<float>::infinity();

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

/// The definition in float64; sum is alpha * (product) with its scales not yet applied, old is
/// beta * C. Vectors that the epilogue does not use are ignored.
struct EpilogueValues {
  double row_scale = 1, column_scale = 1, bias = 0, residual = 0;
};
double apply(const Epilogue& e, const EpilogueValues& values, double sum, double old);
double activate(Activation activation, double x);
/// The largest slope of an activation, which bounds how it amplifies an error of its argument.
double largest_slope(Activation activation);

}  // namespace rooftile
