#pragma once

#include <concepts>
#include <cstdint>
#include <type_traits>

namespace rooftile {

/// Smallest multiple of step that is at least x.
template <std::integral T>
constexpr T round_up(T x, std::type_identity_t<T> step) {
  return (x + step - 1) / step * step;
}
constexpr std::int64_t divide_up(std::int64_t x, std::int64_t step) {
  return (x + step - 1) / step;
}

}  // namespace rooftile
