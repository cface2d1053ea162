#include "runtime/model/counterfactual.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "core/enum_words.h"

namespace rooftile {
namespace {

constexpr std::int64_t kUsualHighest = 65'536, kHighestRatio = 4;
constexpr std::int64_t kUsualHighestElements = std::int64_t{1} << 34;  // 64 GiB of float32.
constexpr double kStepsPerOctave = 4;

/// Bisects between `same` and `other`, two sizes with different choices, and returns the size on
/// other's side that is nearest to `same`.
std::int64_t bisect(std::int64_t same, std::int64_t other,
                    const std::function<bool(std::int64_t)>& chosen, bool choice) {
  while (std::abs(other - same) > 1) {
    const std::int64_t middle = same + (other - same) / 2;
    (chosen(middle) == choice ? same : other) = middle;
  }
  return other;
}

std::optional<std::int64_t> search(std::int64_t size, std::int64_t end, double direction,
                                   const std::function<bool(std::int64_t)>& chosen, bool choice) {
  std::int64_t same = size;
  for (int step = 1; same != end; ++step) {
    const double scaled =
        std::round(static_cast<double>(size) * std::exp2(direction * step / kStepsPerOctave));
    const bool past =
        direction > 0 ? scaled >= static_cast<double>(end) : scaled <= static_cast<double>(end);
    const std::int64_t next = past ? end : static_cast<std::int64_t>(scaled);
    if (next == same) continue;
    if (chosen(next) != choice) return bisect(same, next, chosen, choice);
    same = next;
  }
  return std::nullopt;
}

double octaves(const NamedFlip& named) {
  double least = std::numeric_limits<double>::infinity();
  for (const std::optional<std::int64_t>& other : {named.flip.below, named.flip.above})
    if (other)
      least = std::min(least, std::abs(std::log2(static_cast<double>(*other) /
                                                 static_cast<double>(named.size))));
  return least;
}

}  // namespace

std::string_view name(Dimension dimension) {
  static constexpr EnumWords<Dimension::kBatch> kWords = {"m", "n", "k", "batch"};
  return kWords[dimension];
}

std::int64_t size_of(const Problem& p, Dimension dimension) {
  return std::array{p.m, p.n, p.k, p.batch}[static_cast<std::size_t>(dimension)];
}

Problem resized(const Problem& p, Dimension dimension, std::int64_t size) {
  const auto either = [&](Dimension which, std::int64_t old) {
    return which == dimension ? size : old;
  };
  Problem other = packed_problem(either(Dimension::kM, p.m), either(Dimension::kN, p.n),
                                 either(Dimension::kK, p.k), p.trans_a, p.trans_b,
                                 either(Dimension::kBatch, p.batch), p.types);
  if (is_grouped(p)) {  // With the same skew.
    Grouping grouping = p.grouping;
    grouping.largest = static_cast<std::int64_t>(
        static_cast<double>(p.grouping.largest) /
        static_cast<double>(std::max<std::int64_t>(p.m, 1)) * static_cast<double>(other.m));
    other = grouped_problem(other.m, other.n, other.k, grouping, p.trans_b, p.types);
  }
  other.alpha = p.alpha;
  other.beta = p.beta;
  other.epilogue = p.epilogue;
  return other;
}

SizeRange search_range(std::int64_t size) {
  return {.lowest = 1, .highest = std::max(kUsualHighest, kHighestRatio * size)};
}

SizeRange element_range(std::int64_t elements) {
  return {.lowest = 1, .highest = std::max(kUsualHighestElements, kHighestRatio * elements)};
}

Flip find_flip(std::int64_t size, SizeRange range,
               const std::function<bool(std::int64_t size)>& device_is_chosen) {
  const bool choice = device_is_chosen(size);
  return {.below = search(size, range.lowest, -1, device_is_chosen, choice),
          .above = search(size, range.highest, 1, device_is_chosen, choice),
          .searched = range};
}

const NamedFlip* nearest(std::span<const NamedFlip> flips) {
  const auto found = std::ranges::min_element(flips, {}, octaves);
  return found == flips.end() || !std::isfinite(octaves(*found)) ? nullptr : &*found;
}

}  // namespace rooftile
