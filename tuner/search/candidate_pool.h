// Candidates of a space that have not been proposed yet.
#pragma once

#include <algorithm>
#include <numeric>
#include <span>
#include <vector>

#include "core/numbers/random.h"
#include "tuner/search/strategy.h"

namespace rooftile {

class CandidatePool {
 public:
  explicit CandidatePool(std::size_t size) : free_(size, true), left_(size) {}

  bool empty() const { return left_ == 0; }
  bool has(std::size_t candidate) const { return free_[candidate]; }
  /// Returns false when the candidate was taken before.
  bool take(std::size_t candidate) {
    if (!free_[candidate]) return false;
    free_[candidate] = false;
    --left_;
    return true;
  }
  void take(std::span<const Observation> history) {
    for (const Observation& o : history) take(o.candidate);
  }
  std::vector<std::size_t> rest() const {
    std::vector<std::size_t> candidates;
    for (std::size_t i = 0; i < free_.size(); ++i)
      if (free_[i]) candidates.push_back(i);
    return candidates;
  }
  /// Returns a uniformly random candidate of the rest, which must not be empty.
  std::size_t any(Random& random) const { return rest()[random.below(left_)]; }

 private:
  std::vector<bool> free_;
  std::size_t left_;
};

/// Returns indices by ascending value; equal values keep their order, and NaN comes last.
inline std::vector<std::size_t> ascending(std::span<const double> values) {
  std::vector<std::size_t> order(values.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, [&](std::size_t x, std::size_t y) {
    return values[x] < values[y] || (values[x] == values[x] && values[y] != values[y]);
  });
  return order;
}

}  // namespace rooftile
