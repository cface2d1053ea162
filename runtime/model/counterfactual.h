// Counterfactuals of a tier choice: along one dimension of a problem, the nearest size at which the
// choice between device and host changes. Pure functions.
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
/// Returns a packed problem with this size in that dimension; types, transposes, beta and epilogue
/// stay.
Problem resized(const Problem& p, Dimension dimension, std::int64_t size);

struct SizeRange {
  std::int64_t lowest = 1, highest = 1;
};
/// Returns 1 to 65,536, or to four times the size itself if that is more.
SizeRange search_range(std::int64_t size);
/// Same for the number of elements of an operation: 1 to 2^34.
SizeRange element_range(std::int64_t elements);

struct Flip {
  std::optional<std::int64_t> below;  ///< Largest smaller size with the other choice.
  std::optional<std::int64_t> above;  ///< Smallest larger size with the other choice.
  SizeRange searched;
};
/// Samples sizes a quarter of an octave apart, outwards from `size`, and bisects where the choice
/// first differs; narrower changes are not found. Calls device_is_chosen some hundred times at
/// most.
Flip find_flip(std::int64_t size, SizeRange range,
               const std::function<bool(std::int64_t size)>& device_is_chosen);

struct NamedFlip {
  std::string_view what;  ///< "m", "elements".
  std::int64_t size = 0;  ///< The actual size.
  Flip flip;
};
/// Returns the flip with the smallest ratio of sizes; null when nothing flips.
const NamedFlip* nearest(std::span<const NamedFlip> flips);

}  // namespace rooftile
