// Compares computed elements with references in quadruple precision.
#pragma once

#include <cstdint>
#include <string>

#include "core/types.h"

namespace rooftile {

using Wide = __float128;  // 113 bits

/// What an element should be, and what float64 may make of it.
struct Exact {
  Wide value = 0;
  Wide magnitude = 0;    // sum of the magnitudes that the rounding errors scale with
  double roundings = 0;  // in float64, one after the other, at most
};

/// Rounded once, to nearest even, to a type that C may have.
double rounded(DataType type, Wide x);

struct Tally {
  std::int64_t calls = 0;
  std::int64_t refused = 0;  // calls that returned a status
  std::int64_t elements = 0;
  std::int64_t correct = 0;  // correctly rounded
  std::int64_t within = 0;  // not, but no further off than float64 sums may be: the rounding to C's
                            // type of a value that lies within roundings * 2^-53 * magnitude
  std::int64_t beyond = 0;  // the rest
  double worst = 0;         // largest error over the sum of magnitudes, the rounding to C aside
  std::string why;          // of the first call that was refused

  void add(DataType type, const Exact& exact, double computed);
};

/// alpha * sum of x(l) * y(l) over l < k, plus beta * old where beta is not 0.
template <typename X, typename Y>
Exact exact_sum(float alpha, std::int64_t k, const X& x, const Y& y, float beta, double old) {
  Wide sum = 0, magnitude = 0;
  for (std::int64_t l = 0; l < k; ++l) {
    const Wide term = static_cast<Wide>(x(l)) * static_cast<Wide>(y(l));
    sum += term;
    magnitude += term < 0 ? -term : term;
  }
  const Wide scaled_old = beta != 0.0f ? static_cast<Wide>(beta) * static_cast<Wide>(old) : 0;
  const Wide size = alpha < 0 ? -static_cast<Wide>(alpha) : static_cast<Wide>(alpha);
  return {.value = static_cast<Wide>(alpha) * sum + scaled_old,
          .magnitude = size * magnitude + (scaled_old < 0 ? -scaled_old : scaled_old),
          .roundings = static_cast<double>(k) + 3};  // alpha, beta, the last addition
}

}  // namespace rooftile
