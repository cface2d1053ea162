// float64 reference (long double for float64 sums), and the error bound that
// certificates, spot checks and tests share.
#pragma once

#include <cstdint>
#include <vector>

#include "core/problem.h"

namespace rooftile {

/// One element of alpha * op(A) * op(B) + beta * C in float64, the sum of magnitudes that its error
/// bound scales with, the sum of |a| + |b| over its terms, which bounds what is lost where inputs
/// are flushed to zero, and what rounding A to 8 bits may change, 0 where types do not permit that:
/// 1/254 of the sum of |b| times the largest |a| of its kRoundedSteps, which is not finite where A
/// is not.
struct ReferenceElement {
  double value, magnitude, inputs = 0, rounding = 0;
};

/// Pointers to the first elements of the matrices, and to the scales and zero points of a quantised
/// B.
struct ReferenceOperands {
  const void* a = nullptr;
  const void* b = nullptr;
  const void* scales = nullptr;
  const void* zero_points = nullptr;
};

/// op(A) by rows and op(B) by columns in float64, for callers that need many elements of a small
/// problem.
struct WideOperands {
  std::vector<double> a, b;    // m x k, n x k
  std::vector<double> size_b;  ///< Magnitudes of the terms that b was computed from, n x k.
};
WideOperands widen(const Problem& p, const ReferenceOperands& operands);
ReferenceElement reference_element(const Problem& p, const WideOperands& operands, double c0,
                                   const EpilogueValues& values, std::int64_t row,
                                   std::int64_t column);

/// Returns the element after the problem's epilogue. c0 is C before the call (not read when beta ==
/// 0).
ReferenceElement reference_element(const Problem& p, const ReferenceOperands& operands, double c0,
                                   const EpilogueValues& values, std::int64_t row,
                                   std::int64_t column);
/// Same as above for a problem without epilogue.
inline ReferenceElement reference_element(const Problem& p, const void* a, const void* b, double c0,
                                          std::int64_t row, std::int64_t column) {
  return reference_element(p, ReferenceOperands{a, b}, c0, {}, row, column);
}

/// Largest error of a correct result: gamma_n * magnitude + (n + inputs) * smallest normal, for any
/// order of summation and with or without flushing of denormals, also of those in A and B (Higham,
/// Accuracy and Stability, 3.1 and 4.2), where gamma_n = n u / (1 - n u).
/// - n is k plus the roundings around the sum: alpha, beta, a quantised value, an epilogue (with an
///   activation within 16 units in the last place of its argument), and of float64 the reference's
///   own.
/// - u is 2^-24, 2^-53 for sums in float64, or 2^-11 for sums in float16; integer sums are exact.
/// - A quantised B with a float16 A may be rounded to float16 first, but not for float64 sums.
/// - Operands may be rounded as their types permit (Rounding).
/// - The result is rounded once to C's type, to either neighbour (Vulkan leaves the direction of
///   float16 rounding open).
double error_bound(const Problem& p, const ReferenceElement& expected);

/// Share of error_bound() that is the rounding to C's type: 0 for int32, and for float32 but after
/// float64 sums.
double rounding_bound(const Problem& p, const ReferenceElement& expected);

/// Ratio of error to bound. Infinity when only one of the two values is not finite; but NaN matches
/// NaN, an infinity matches its equal, and an infinity also matches a value that C's type cannot
/// hold. Where A may be rounded to 8 bits and is not finite, whatever is not finite is right.
double error_ratio(const Problem& p, const ReferenceElement& expected, double computed);

}  // namespace rooftile
