// float64 reference and the error bound that certificates, spot checks and tests share.
#pragma once

#include <cstdint>
#include <string>

#include "core/problem.h"

namespace rooftile {

/// One element of alpha * op(A) * op(B) + beta * C in float64 and the sum of magnitudes that its
/// bound scales with.
struct ReferenceElement {
  double value, magnitude;
};
/// c0 is C before the product (not read when beta == 0). Pointers are to the matrices' first
/// elements.
ReferenceElement reference_element(const Problem& p, const void* a, const void* b, float c0,
                                   std::int64_t row, std::int64_t column);

/// The same behind the problem's epilogue. The magnitude grows with it so that the bound below
/// holds for k + kEpilogueRoundings.
ReferenceElement reference_element(const Problem& p, const void* a, const void* b, float c0,
                                   const EpilogueValues& values, std::int64_t row,
                                   std::int64_t column);
/// Scales, bias, residual, and an activation within 16 units in the last place of its argument.
inline constexpr std::int64_t kEpilogueRoundings = 24;
/// What to pass as k to the bound for an element of this problem.
std::int64_t roundings(const Problem& p);

/// |computed - exact| <= gamma_(k+3) * magnitude + (k+3) * smallest normal, gamma_n = n u / (1 - n
/// u), u = 2^-24: any order of summation in float32 with denormals flushed or not (Higham, Accuracy
/// and Stability, 3.1 and 4.2).
double error_bound(std::int64_t k, double magnitude);

/// Error over bound; infinity when one is not finite where the other is (NaN matches NaN, an
/// infinity its equal).
double error_ratio(std::int64_t k, ReferenceElement expected, float computed);

}  // namespace rooftile
