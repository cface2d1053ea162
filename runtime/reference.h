// float64 reference and the error bound that certificates, spot checks and tests share.
#pragma once

#include <cstdint>
#include <vector>

#include "core/problem.h"

namespace rooftile {

/// One element of alpha * op(A) * op(B) + beta * C in float64 and the sum of magnitudes that its
/// bound scales with.
struct ReferenceElement {
  double value, magnitude;
};

/// Pointers to the matrices' first elements; of a quantised B to all of its parts.
struct ReferenceOperands {
  const void* a = nullptr;
  const void* b = nullptr;
  const void* scales = nullptr;
  const void* zero_points = nullptr;
};

/// op(A) by rows and op(B) by columns in float64: for who wants many elements of a small product.
struct WideOperands {
  std::vector<double> a, b;    // m x k, n x k
  std::vector<double> size_b;  // magnitudes of what b was made from, n x k
};
WideOperands widen(const Problem& p, const ReferenceOperands& operands);
ReferenceElement reference_element(const Problem& p, const WideOperands& operands, double c0,
                                   const EpilogueValues& values, std::int64_t row,
                                   std::int64_t column);

/// The element behind the problem's epilogue. c0 is C before the product (not read when beta == 0).
ReferenceElement reference_element(const Problem& p, const ReferenceOperands& operands, double c0,
                                   const EpilogueValues& values, std::int64_t row,
                                   std::int64_t column);
/// Of a problem without epilogue.
inline ReferenceElement reference_element(const Problem& p, const void* a, const void* b, double c0,
                                          std::int64_t row, std::int64_t column) {
  return reference_element(p, ReferenceOperands{a, b}, c0, {}, row, column);
}

/// How far a right result may lie from the exact one: gamma_n * magnitude + n * smallest normal for
/// any order of summation with denormals flushed or not (Higham, Accuracy and Stability, 3.1 and
/// 4.2), gamma_n = n u / (1 - n u). n is k and the roundings around it: alpha, beta, a quantised
/// value, an epilogue (with an activation within 16 units in the last place of its argument). u is
/// 2^-24, or 2^-11 for the sums where they are float16; integer sums are exact. A quantised B
/// beside a float16 A may be rounded to float16 first. Then one rounding to C's type, to either
/// neighbour (Vulkan leaves float16's direction open).
double error_bound(const Problem& p, const ReferenceElement& expected);

/// What of error_bound() is the rounding to C's type: 0 for float32 and int32.
double rounding_bound(const Problem& p, const ReferenceElement& expected);

/// Error over bound; infinity when one is not finite where the other is (NaN matches NaN, an
/// infinity its equal, and one also what C's type cannot hold).
double error_ratio(const Problem& p, const ReferenceElement& expected, double computed);

}  // namespace rooftile
