// Words for the values of an enumeration.
#pragma once

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>
#include <cstddef>
#include <optional>
#include <string_view>
#include <tuple>

#include "core/error.h"

namespace rooftile {

/// A word for each value from 0 to kLast, in this order.
template <auto kLast>
struct EnumWords {
  using Enum = decltype(kLast);
  std::array<std::string_view, static_cast<std::size_t>(kLast) + 1> all;

  template <typename... Words>
  constexpr EnumWords(Words... words) : all{words...} {
    static_assert(sizeof...(words) == std::tuple_size_v<decltype(all)>);
  }

  constexpr std::string_view operator[](Enum value) const {
    return all[static_cast<std::size_t>(value)];
  }
  constexpr std::optional<Enum> find(std::string_view word) const {
    for (std::size_t i = 0; i < all.size(); ++i)
      if (all[i] == word) return static_cast<Enum>(i);
    return std::nullopt;
  }
  /// Throws kInvalidArgument with all words, for example for an unknown "tier".
  Enum parse(std::string_view what, std::string_view word) const {
    if (const std::optional<Enum> value = find(word)) return *value;
    fail(ErrorCode::kInvalidArgument, "unknown {} '{}'; known: {}", what, word,
         fmt::join(all, ", "));
  }
};

}  // namespace rooftile
