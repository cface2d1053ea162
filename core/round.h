#pragma once

#include <cstdint>

namespace rooftile {

/// Smallest multiple of step that is at least x.
constexpr std::int64_t round_up(std::int64_t x, std::int64_t step) {
  return (x + step - 1) / step * step;
}
constexpr std::int64_t divide_up(std::int64_t x, std::int64_t step) {
  return (x + step - 1) / step;
}

}  // namespace rooftile
