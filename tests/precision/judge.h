// Compares computed elements with references in quadruple precision.
#pragma once

#include <cmath>
#include <cstdint>
#include <string>

#include "core/types.h"

namespace rooftile {

using Wide = __float128;  // significand of 113 bits

/// The exact value of an element, and the bound of the errors that float64 arithmetic may have.
struct Exact {
  Wide value = 0;
  Wide magnitude = 0;    // sum of the magnitudes that rounding errors are proportional to
  double roundings = 0;  // largest number of successive float64 roundings
};

/// x rounded once, to nearest even, to a type that C may have.
double rounded(DataType type, Wide x);

struct Tally {
  std::int64_t calls = 0;
  std::int64_t refused = 0;  // calls that returned an error status
  std::int64_t elements = 0;
  std::int64_t correct = 0;  // correctly rounded elements
  std::int64_t within = 0;   // other elements that float64 sums permit: roundings to C's type of a
                             // value within roundings * 2^-53 * magnitude of the exact one
  std::int64_t beyond = 0;   // all other elements
  double worst = 0;          // largest error over the sum of magnitudes, without the rounding to C
  std::string why;           // error message of the first refused call

  void add(DataType type, const Exact& exact, double computed);
};

/// Returns alpha * sum of x(l) * y(l) over l < k, plus beta * old if beta is not 0. The sum is that
/// of T. Ogita, S. Rump and S. Oishi (Accurate Sum and Dot Product, 2005), whose error is below k^2
/// * 2^-106 of the magnitude: operations on Wide would take most of the test's time.
template <typename X, typename Y>
Exact exact_sum(double alpha, std::int64_t k, const X& x, const Y& y, double beta, double old) {
  double high = 0, low = 0;  // the sum, and what was rounded away from it
  double magnitude = 0;      // The bound that follows from it needs few digits.
  for (std::int64_t l = 0; l < k; ++l) {
    // Together these two are the exact product; the second is 0 for float32 and less.
    const double left = x(l), right = y(l), product = left * right;
    const double rest = std::fma(left, right, -product);
    const double before = high;
    high += product;
    const double added = high - before;
    low += (before - (high - added)) + (product - added) + rest;
    magnitude += std::fabs(product);
  }
  const Wide sum = static_cast<Wide>(high) + static_cast<Wide>(low);
  const Wide scaled_old = beta != 0 ? static_cast<Wide>(beta) * static_cast<Wide>(old) : 0;
  const Wide size = alpha < 0 ? -static_cast<Wide>(alpha) : static_cast<Wide>(alpha);
  return {.value = static_cast<Wide>(alpha) * sum + scaled_old,
          .magnitude = size * magnitude + (scaled_old < 0 ? -scaled_old : scaled_old),
          .roundings = static_cast<double>(k) + 3};  // plus alpha, beta and the last addition
}

}  // namespace rooftile
