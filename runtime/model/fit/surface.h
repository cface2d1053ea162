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

/// Lattice with nodes an octave apart over the bounding box of `places`. Points outside the box
/// count as the nearest point on it.
class OctaveLattice {
 public:
  OctaveLattice() = default;
  explicit OctaveLattice(std::span<const LogSizes> places);  ///< Needs at least one place.

  std::size_t nodes(std::size_t axis) const { return axes_[axis].nodes; }
  double octave(std::size_t axis, std::size_t node) const {
    return axes_[axis].origin + static_cast<double>(node);
  }
  /// Coordinate of sizes along an axis, in nodes.
  double place(std::size_t axis, const LogSizes& sizes) const;
  /// Index into arrays of all nodes: m slowest, k fastest.
  std::size_t index(const std::array<std::size_t, 3>& node) const {
    return (node[0] * axes_[1].nodes + node[1]) * axes_[2].nodes + node[2];
  }

 private:
  struct Axis {
    double low = 0, high = 0;  ///< Range of the places.
    double origin = 0;         ///< Coordinate of the first node.
    std::size_t nodes = 0;
  };
  std::array<Axis, 3> axes_ = {};
};

/// Polyharmonic spline (kernel -r and a constant: solvable for any distinct points, flat far away;
/// Duchon 1977), sampled on a lattice and read by trilinear interpolation. Preparation is
/// O(points^3); the time of a lookup does not depend on their number.
class Surface {
 public:
  Surface() = default;
  /// Points at the same place are averaged. smoothing_octaves (0 or more) is the assumed
  /// uncertainty of a point's position. With 0 the spline passes through every point, so that an
  /// error in one point affects its surroundings. With more, a point is weighed against its
  /// neighbours, mainly those within some smoothing_octaves (the diagonal term of Wahba 1990, or a
  /// Gaussian process's noise).
  explicit Surface(std::span<const SurfacePoint> points, double smoothing_octaves = 0);
  /// Returns surfaces through several values at each of the same places. The part of the
  /// preparation that depends on the places alone, which is nearly all of it, is done once. Each
  /// entry of `values` belongs to one surface, in the order of the places.
  static std::vector<Surface> through(std::span<const LogSizes> places,
                                      std::span<const std::vector<double>> values,
                                      double smoothing_octaves);

  bool empty() const { return values_.empty(); }
  double at(const LogSizes& sizes) const;

 private:
  OctaveLattice lattice_;
  std::vector<double> values_;
};

/// Nearest-neighbour search among scattered points.
class NearestPoint {
 public:
  NearestPoint() = default;
  explicit NearestPoint(std::span<const SurfacePoint> points);

  /// Returns the index, in the constructor's points, of the point nearest to the lattice node
  /// nearest to `sizes`.
  std::size_t of(const LogSizes& sizes) const;

 private:
  OctaveLattice lattice_;
  std::vector<std::uint32_t> nearest_;
};

}  // namespace rooftile
