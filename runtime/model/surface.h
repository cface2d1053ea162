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

/// Nodes an octave apart over the box around places. Outside of it the nearest place on it counts.
class OctaveLattice {
 public:
  OctaveLattice() = default;
  explicit OctaveLattice(std::span<const LogSizes> places);  // one at least

  std::size_t nodes(std::size_t axis) const { return axes_[axis].nodes; }
  double octave(std::size_t axis, std::size_t node) const {
    return axes_[axis].origin + static_cast<double>(node);
  }
  /// Of sizes along an axis, in nodes.
  double place(std::size_t axis, const LogSizes& sizes) const;
  /// In arrays of all nodes: m slowest, k fastest.
  std::size_t index(const std::array<std::size_t, 3>& node) const {
    return (node[0] * axes_[1].nodes + node[1]) * axes_[2].nodes + node[2];
  }

 private:
  struct Axis {
    double low = 0, high = 0;  // of the places
    double origin = 0;         // of the nodes
    std::size_t nodes = 0;
  };
  std::array<Axis, 3> axes_ = {};
};

/// Polyharmonic spline (kernel -r and a constant: solvable for any distinct points, flat far away;
/// Duchon 1977), sampled on a lattice and read by trilinear interpolation. Preparation is
/// O(points^3); lookup does not depend on their number.
class Surface {
 public:
  Surface() = default;
  /// Points at the same place are averaged. smoothing_octaves, 0 or more: how far a point is held
  /// to be from where it was measured. 0: the spline goes through every point, and what is wrong
  /// with one is wrong around it. More: a point counts beside its neighbours, those within some
  /// smoothing_octaves above all (the diagonal term of Wahba 1990, or a Gaussian process's noise).
  explicit Surface(std::span<const SurfacePoint> points, double smoothing_octaves = 0);
  /// Surfaces through several values at each of the same places: what depends on the places alone,
  /// which is nearly all of the preparation, is done once. values: of a surface, in the places'
  /// order.
  static std::vector<Surface> through(std::span<const LogSizes> places,
                                      std::span<const std::vector<double>> values,
                                      double smoothing_octaves);

  bool empty() const { return values_.empty(); }
  double at(const LogSizes& sizes) const;

 private:
  OctaveLattice lattice_;
  std::vector<double> values_;
};

/// Which of scattered points is near.
class NearestPoint {
 public:
  NearestPoint() = default;
  explicit NearestPoint(std::span<const SurfacePoint> points);

  /// Index, in the constructor's points, of the one nearest to the lattice node nearest to `sizes`.
  std::size_t of(const LogSizes& sizes) const;

 private:
  OctaveLattice lattice_;
  std::vector<std::uint32_t> nearest_;
};

}  // namespace rooftile
