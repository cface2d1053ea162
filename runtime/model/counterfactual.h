// What would have to be different for the other side to be chosen: along one size of a problem, the
// nearest one at which device and host change places. Pure functions.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "core/problem.h"

namespace rooftile {

enum class Dimension : std::uint8_t { kM, kN, kK, kBatch };
std::string_view name(Dimension dimension);  // "m", "n", "k", "batch"
std::int64_t size_of(const Problem& p, Dimension dimension);
/// A packed problem with this size in its place; types, transposes, beta and epilogue stay.
Problem resized(const Problem& p, Dimension dimension, std::int64_t size);

struct SizeRange {
  std::int64_t lowest = 1, highest = 1;
};
/// 1 to 65,536, or to four times the size itself where that is more.
SizeRange search_range(std::int64_t size);
/// The same for elements of an operation: 1 to 2^34.
SizeRange element_range(std::int64_t elements);

struct Flip {
  std::optional<std::int64_t> below;  // largest smaller size at which the other side is chosen
  std::optional<std::int64_t> above;  // smallest larger size
  SizeRange searched;
};
/// Looks at sizes a quarter of an octave apart, outwards from size, and bisects where the choice
/// first differs: nothing narrower than that is found. Some hundred questions at most.
Flip find_flip(std::int64_t size, SizeRange range,
               const std::function<bool(std::int64_t size)>& device_is_chosen);

struct NamedFlip {
  std::string_view what;  // "m", "elements"
  std::int64_t size = 0;  // as it is
  Flip flip;
};
/// The change that is the smallest ratio away; null when nothing flips.
const NamedFlip* nearest(std::span<const NamedFlip> flips);

}  // namespace rooftile
