// A space as points on a grid of parameter values, for strategies that walk it.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/variant.h"
#include "tuner/candidate_pool.h"

namespace rooftile {

/// What one candidate takes of each parameter, as the rank of the value among those that occur.
using GridPoint = std::vector<std::uint16_t>;

class ParameterGrid {
 public:
  /// Parameters with one value only are left out.
  explicit ParameterGrid(std::span<const Variant> variants);

  std::size_t dimensions() const { return values_.size(); }
  std::size_t values(std::size_t parameter) const { return values_[parameter]; }
  const GridPoint& point(std::size_t candidate) const { return points_[candidate]; }
  /// The candidate of the pool that differs from a point in the fewest parameters; of equals any.
  /// The pool must not be empty.
  std::size_t nearest(const GridPoint& point, const CandidatePool& pool, Random& random) const;

 private:
  std::vector<std::size_t> values_;
  std::vector<GridPoint> points_;
};

}  // namespace rooftile
