// A space as points on a grid of parameter values, for strategies that move between neighbours.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/variant.h"
#include "tuner/search/candidate_pool.h"

namespace rooftile {

/// A candidate's value of each parameter, as its rank among the values that occur.
using GridPoint = std::vector<std::uint16_t>;

class ParameterGrid {
 public:
  /// Parameters with only one value are left out.
  explicit ParameterGrid(std::span<const Variant> variants);

  std::size_t dimensions() const { return values_.size(); }
  std::size_t values(std::size_t parameter) const { return values_[parameter]; }
  const GridPoint& point(std::size_t candidate) const { return points_[candidate]; }
  /// Returns the candidate of the pool that differs from a point in the fewest parameters; a random
  /// one of equals. The pool must not be empty.
  std::size_t nearest(const GridPoint& point, const CandidatePool& pool, Random& random) const;

 private:
  std::vector<std::size_t> values_;
  std::vector<GridPoint> points_;
};

}  // namespace rooftile
