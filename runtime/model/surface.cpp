#include "runtime/model/surface.h"

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

namespace rooftile {
namespace {

// Not std::hypot: octaves are far from overflow.
double distance(const LogSizes& a, const LogSizes& b) {
  const double x = a[0] - b[0], y = a[1] - b[1], z = a[2] - b[2];
  return std::sqrt(x * x + y * y + z * z);
}

std::vector<SurfacePoint> merge_duplicates(std::span<const SurfacePoint> points) {
  std::map<LogSizes, std::pair<double, double>> sums;  // sum and count
  for (const SurfacePoint& point : points) {
    auto& [sum, count] = sums[point.at];
    sum += point.value;
    count += 1;
  }
  std::vector<SurfacePoint> merged;
  merged.reserve(sums.size());
  for (const auto& [at, sum] : sums) merged.push_back({at, sum.first / sum.second});
  return merged;
}

struct Spline {
  std::vector<SurfacePoint> points;
  Eigen::ArrayXd weights = {};  // of the points' kernels
  double constant = 0;
};

Spline fit(std::span<const SurfacePoint> all, double smoothing) {
  Spline spline{.points = merge_duplicates(all)};
  const std::vector<SurfacePoint>& points = spline.points;
  // Weights sum to 0, which gives the first one; the system of the others is positive definite. A
  // point's smoothing times its weight is what the spline misses the point by.
  const auto n = static_cast<Eigen::Index>(points.size()) - 1;
  const SurfacePoint& first = points.front();
  Eigen::VectorXd values(n), to_first(n);
  Eigen::MatrixXd matrix(n, n);  // below the diagonal
  for (Eigen::Index i = 0; i < n; ++i) {
    const SurfacePoint& point = points[static_cast<std::size_t>(i) + 1];
    values[i] = point.value - first.value;
    to_first[i] = distance(point.at, first.at);
    for (Eigen::Index j = 0; j <= i; ++j)
      matrix(i, j) = to_first[i] + to_first[j] + smoothing -
                     distance(point.at, points[static_cast<std::size_t>(j) + 1].at);
    matrix(i, i) += smoothing;
  }
  spline.weights.resize(n + 1);
  if (n > 0) {
    const Eigen::VectorXd weights = matrix.selfadjointView<Eigen::Lower>().llt().solve(values);
    spline.weights.tail(n) = weights.array();
    spline.constant = weights.dot(to_first);
  }
  spline.weights[0] = -spline.weights.tail(n).sum();
  spline.constant += first.value - smoothing * spline.weights[0];
  return spline;
}

/// Of points from the nodes.
class SquaredDistances {
 public:
  SquaredDistances(const OctaveLattice& lattice, std::span<const SurfacePoint> points) {
    for (std::size_t axis = 0; axis < along_.size(); ++axis) {
      along_[axis].resize(static_cast<Eigen::Index>(points.size()),
                          static_cast<Eigen::Index>(lattice.nodes(axis)));
      for (std::size_t node = 0; node < lattice.nodes(axis); ++node)
        for (std::size_t i = 0; i < points.size(); ++i) {
          const double x = points[i].at[axis] - lattice.octave(axis, node);
          along_[axis](static_cast<Eigen::Index>(i), static_cast<Eigen::Index>(node)) = x * x;
        }
    }
  }

  /// visit(squares) for all nodes, in the order of their indices.
  template <typename Visit>
  void for_each_node(const Visit& visit) const {
    for (Eigen::Index m = 0; m < along_[0].cols(); ++m)
      for (Eigen::Index n = 0; n < along_[1].cols(); ++n) {
        const Eigen::ArrayXd in_plane = along_[0].col(m) + along_[1].col(n);
        for (Eigen::Index k = 0; k < along_[2].cols(); ++k) visit(in_plane + along_[2].col(k));
      }
  }

 private:
  std::array<Eigen::ArrayXXd, 3> along_;  // the axes: points by nodes
};

double between(double low, double high, double share) { return low + share * (high - low); }

}  // namespace

LogSizes log_sizes(double m, double n, double k) {
  return {std::log2(std::max(m, 1.0)), std::log2(std::max(n, 1.0)), std::log2(std::max(k, 1.0))};
}

LogSizes log_sizes(const Problem& p) {
  return log_sizes(static_cast<double>(p.m), static_cast<double>(p.n), static_cast<double>(p.k));
}

OctaveLattice::OctaveLattice(std::span<const SurfacePoint> points) {
  for (std::size_t i = 0; i < axes_.size(); ++i) {
    const auto [low, high] =
        std::ranges::minmax(points, {}, [i](const SurfacePoint& point) { return point.at[i]; });
    Axis& axis = axes_[i];
    axis.low = low.at[i];
    axis.high = high.at[i];
    axis.origin = std::floor(axis.low);
    axis.nodes = static_cast<std::size_t>(std::ceil(axis.high) - axis.origin) + 1;
  }
}

double OctaveLattice::place(std::size_t axis, const LogSizes& sizes) const {
  const Axis& a = axes_[axis];
  return std::clamp(sizes[axis], a.low, a.high) - a.origin;
}

Surface::Surface(std::span<const SurfacePoint> points, double smoothing_octaves) {
  if (points.empty()) return;
  lattice_ = OctaveLattice(points);
  const Spline spline = fit(points, smoothing_octaves);
  SquaredDistances(lattice_, spline.points).for_each_node([&](const auto& squares) {
    values_.push_back(spline.constant - (spline.weights * squares.sqrt()).sum());
  });
}

double Surface::at(const LogSizes& sizes) const {
  std::array<std::size_t, 3> low, step;  // step 0 on an axis with one node
  std::array<double, 3> share;           // of the upper neighbour
  for (std::size_t i = 0; i < low.size(); ++i) {
    const double x = lattice_.place(i, sizes);
    const std::size_t nodes = lattice_.nodes(i);
    low[i] = std::min(static_cast<std::size_t>(x), nodes < 2 ? 0 : nodes - 2);
    step[i] = nodes < 2 ? 0 : 1;
    share[i] = x - static_cast<double>(low[i]);
  }
  const std::size_t row = lattice_.nodes(2), plane = lattice_.nodes(1) * row;
  const double* corner = &values_[lattice_.index(low)];
  const auto along_k = [&](std::size_t offset) {
    return between(corner[offset], corner[offset + step[2]], share[2]);
  };
  const auto along_n = [&](std::size_t offset) {
    return between(along_k(offset), along_k(offset + step[1] * row), share[1]);
  };
  return between(along_n(0), along_n(step[0] * plane), share[0]);
}

NearestPoint::NearestPoint(std::span<const SurfacePoint> points) {
  if (points.empty()) return;
  lattice_ = OctaveLattice(points);
  SquaredDistances(lattice_, points).for_each_node([&](const auto& squares) {
    Eigen::Index nearest = 0;
    squares.minCoeff(&nearest);
    nearest_.push_back(static_cast<std::uint32_t>(nearest));
  });
}

std::size_t NearestPoint::of(const LogSizes& sizes) const {
  std::array<std::size_t, 3> node;
  for (std::size_t i = 0; i < node.size(); ++i)
    node[i] = static_cast<std::size_t>(std::lround(lattice_.place(i, sizes)));
  return nearest_[lattice_.index(node)];
}

}  // namespace rooftile
