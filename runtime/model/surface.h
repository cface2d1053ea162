// A smooth function of (log2 m, log2 n, log2 k) through scattered measured points, prepared for
// constant-time lookup.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "core/problem.h"

namespace rooftile {

/// log2 of the sizes; sizes below 1 count as 1.
using LogSizes = std::array<double, 3>;
LogSizes log_sizes(double m, double n, double k);
LogSizes log_sizes(const Problem& p);

struct SurfacePoint {
  LogSizes at;
  double value;
};

/// Polyharmonic spline (kernel -r and a constant: solvable for any distinct points, flat far away;
/// Duchon 1977), sampled on a lattice of one octave and read by trilinear interpolation. Outside
/// the points' box the nearest place on the box counts. Preparation is O(points^3); lookup does not
/// depend on their number.
class Surface {
 public:
  Surface() = default;
  /// Points at the same place are averaged.
  explicit Surface(std::span<const SurfacePoint> points);

  bool empty() const { return values_.empty(); }
  double at(const LogSizes& sizes) const;
  /// Index, in the constructor's points, of the one nearest to the lattice node nearest to `sizes`.
  std::size_t nearest(const LogSizes& sizes) const;

 private:
  struct Axis {
    double low = 0, high = 0;  // of the points
    double origin = 0;         // of the lattice
    std::size_t nodes = 0;
  };
  double node(std::size_t axis,
              const LogSizes& sizes) const;  // lattice coordinate, clamped to the box

  std::array<Axis, 3> axes_ = {};
  std::vector<double> values_;          // m slowest, k fastest
  std::vector<std::uint32_t> nearest_;  // same order
};

}  // namespace rooftile
