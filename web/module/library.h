// What libc++ 13, the standard library of emscripten 3.1.6, lacks of C++20 and the engine's sources
// use. Included before every source of the engine (CMakeLists.txt beside it); a later emscripten
// needs nothing of it.
#pragma once

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <iterator>
#include <ranges>
#include <string>
#include <utility>

#if defined(_LIBCPP_VERSION) && _LIBCPP_VERSION < 15000

// NOLINTBEGIN(cert-dcl58-cpp): these names belong to std, which has them elsewhere.
_LIBCPP_BEGIN_NAMESPACE_STD

template <typename To, typename From>
constexpr To bit_cast(const From& value) noexcept {
  return __builtin_bit_cast(To, value);
}

/// Floating-point numbers, which libc++ does not read.
inline from_chars_result from_chars(const char* first, const char* last, double& value,
                                    chars_format) {
  const string text(first, last);
  char* end = nullptr;
  const double read = strtod(text.c_str(), &end);
  if (end == text.c_str()) return {first, errc::invalid_argument};
  value = read;
  return {first + (end - text.c_str()), errc{}};
}

namespace ranges {

// Enough of the algorithms on whole ranges: with a comparison and projections.
template <typename Range, typename Projection = identity>
auto find(Range&& range, const auto& value, Projection projection = {}) {
  auto at = std::begin(range);
  while (at != std::end(range) && !(std::invoke(projection, *at) == value)) ++at;
  return at;
}
template <typename Range, typename Predicate, typename Projection = identity>
auto find_if(Range&& range, Predicate predicate, Projection projection = {}) {
  auto at = std::begin(range);
  while (at != std::end(range) && !std::invoke(predicate, std::invoke(projection, *at))) ++at;
  return at;
}
template <typename Range, typename Predicate, typename Projection = identity>
bool any_of(Range&& range, Predicate predicate, Projection projection = {}) {
  return ranges::find_if(range, predicate, projection) != std::end(range);
}
template <typename Range, typename Predicate, typename Projection = identity>
bool none_of(Range&& range, Predicate predicate, Projection projection = {}) {
  return !ranges::any_of(range, predicate, projection);
}
template <typename Range, typename Predicate, typename Projection = identity>
bool all_of(Range&& range, Predicate predicate, Projection projection = {}) {
  for (auto&& value : range)
    if (!std::invoke(predicate, std::invoke(projection, value))) return false;
  return true;
}
template <typename Range, typename Compare = std::less<>, typename Projection = identity>
void sort(Range&& range, Compare compare = {}, Projection projection = {}) {
  std::sort(std::begin(range), std::end(range), [&](const auto& x, const auto& y) {
    return std::invoke(compare, std::invoke(projection, x), std::invoke(projection, y));
  });
}
template <typename Range, typename Compare = std::less<>, typename Projection = identity>
void stable_sort(Range&& range, Compare compare = {}, Projection projection = {}) {
  std::stable_sort(std::begin(range), std::end(range), [&](const auto& x, const auto& y) {
    return std::invoke(compare, std::invoke(projection, x), std::invoke(projection, y));
  });
}
template <typename Range, typename Compare = std::less<>, typename Projection = identity>
auto min_element(Range&& range, Compare compare = {}, Projection projection = {}) {
  return std::min_element(std::begin(range), std::end(range), [&](const auto& x, const auto& y) {
    return std::invoke(compare, std::invoke(projection, x), std::invoke(projection, y));
  });
}
template <typename Range, typename Compare = std::less<>, typename Projection = identity>
auto max_element(Range&& range, Compare compare = {}, Projection projection = {}) {
  return std::max_element(std::begin(range), std::end(range), [&](const auto& x, const auto& y) {
    return std::invoke(compare, std::invoke(projection, x), std::invoke(projection, y));
  });
}
template <typename Range, typename Projection = identity>
auto min(Range&& range, std::less<> compare = {}, Projection projection = {}) {
  return *ranges::min_element(range, compare, projection);
}
template <typename Range, typename Projection = identity>
auto max(Range&& range, std::less<> compare = {}, Projection projection = {}) {
  return *ranges::max_element(range, compare, projection);
}
template <typename Range, typename Value, typename Compare = std::less<>,
          typename Projection = identity>
auto lower_bound(Range&& range, const Value& value, Compare compare = {},
                 Projection projection = {}) {
  return std::lower_bound(std::begin(range), std::end(range), value,
                          [&](const auto& x, const auto& y) {
                            return std::invoke(compare, std::invoke(projection, x), y);
                          });
}
template <typename Range, typename Predicate, typename Projection = identity>
auto count_if(Range&& range, Predicate predicate, Projection projection = {}) {
  ptrdiff_t count = 0;
  for (auto&& value : range)
    if (std::invoke(predicate, std::invoke(projection, value))) ++count;
  return count;
}
template <typename Range, typename Output>
void copy(Range&& range, Output output) {
  std::copy(std::begin(range), std::end(range), output);
}
template <typename Range, typename Output, typename Predicate>
void copy_if(Range&& range, Output output, Predicate predicate) {
  std::copy_if(std::begin(range), std::end(range), output, predicate);
}

}  // namespace ranges

namespace views {
struct Take {
  ptrdiff_t count;
};
inline Take take(ptrdiff_t count) { return {count}; }
template <typename Iterator>
struct Taken {
  Iterator first, last;
  Iterator begin() const { return first; }
  Iterator end() const { return last; }
};
template <typename Container>
auto operator|(const Container& container, Take take) {
  const auto first = container.begin();
  return Taken<decltype(first)>{
      first, first + std::min(take.count, static_cast<ptrdiff_t>(container.size()))};
}
}  // namespace views

_LIBCPP_END_NAMESPACE_STD
// NOLINTEND(cert-dcl58-cpp)

#endif
