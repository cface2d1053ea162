#pragma once

#include <cstddef>

namespace rooftile {

/// Halton's low-discrepancy sequence in [0, 1): the digits of i in this base, mirrored at the
/// point. One prime base a dimension.
inline double radical_inverse(std::size_t i, std::size_t base) {
  double result = 0, digit = 1.0 / static_cast<double>(base);
  for (; i > 0; i /= base, digit /= static_cast<double>(base))
    result += digit * static_cast<double>(i % base);
  return result;
}

}  // namespace rooftile
