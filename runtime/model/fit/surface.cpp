#include "runtime/model/fit/surface.h"

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

namespace rooftile {
namespace {

// std::hypot is not needed, because octaves are far from overflow.
double distance(const LogSizes& a, const LogSizes& b) {
  const double x = a[0] - b[0], y = a[1] - b[1], z = a[2] - b[2];
  return std::sqrt(x * x + y * y + z * z);
}

/// Values of several surfaces at the same places.
struct Scattered {
  std::vector<LogSizes> places;  // Distinct.
  Eigen::MatrixXd values;        // Places by surfaces.
};

Scattered merge_duplicates(std::span<const LogSizes> places,
                           std::span<const std::vector<double>> values) {
  std::map<LogSizes, std::vector<std::size_t>> same;
  for (std::size_t i = 0; i < places.size(); ++i) same[places[i]].push_back(i);
  Scattered merged;
  merged.values.resize(static_cast<Eigen::Index>(same.size()),
                       static_cast<Eigen::Index>(values.size()));
  for (const auto& [at, indices] : same) {
    const auto row = static_cast<Eigen::Index>(merged.places.size());
    for (std::size_t surface = 0; surface < values.size(); ++surface) {
      double sum = 0;
      for (const std::size_t i : indices) sum += values[surface][i];
      merged.values(row, static_cast<Eigen::Index>(surface)) =
          sum / static_cast<double>(indices.size());
    }
    merged.places.push_back(at);
  }
  return merged;
}

struct Splines {
  Eigen::MatrixXd weights = {};       // Weights of the places' kernels: places by splines.
  Eigen::RowVectorXd constants = {};  // Constant of each spline.
};

Splines fit(const Scattered& points, double smoothing) {
  Splines splines;
  // The weights sum to 0, which determines the first one; the system of the others is positive
  // definite. A point's smoothing times its weight is the spline's residual at the point.
  const auto n = static_cast<Eigen::Index>(points.places.size()) - 1;
  const auto place = [&](Eigen::Index i) { return points.places[static_cast<std::size_t>(i)]; };
  const Eigen::RowVectorXd first = points.values.row(0);
  Eigen::VectorXd to_first(n);
  Eigen::MatrixXd matrix(n, n);  // Only entries on and below the diagonal are set.
  for (Eigen::Index i = 0; i < n; ++i) {
    to_first[i] = distance(place(i + 1), place(0));
    for (Eigen::Index j = 0; j <= i; ++j)
      matrix(i, j) = to_first[i] + to_first[j] + smoothing - distance(place(i + 1), place(j + 1));
    matrix(i, i) += smoothing;
  }
  splines.weights.resize(n + 1, points.values.cols());
  splines.constants = first;
  if (n > 0) {
    const Eigen::MatrixXd weights = matrix.selfadjointView<Eigen::Lower>().llt().solve(
        points.values.bottomRows(n).rowwise() - first);
    splines.weights.bottomRows(n) = weights;
    splines.constants += to_first.transpose() * weights;
  }
  splines.weights.row(0) = -splines.weights.bottomRows(n).colwise().sum();
  splines.constants -= smoothing * splines.weights.row(0);
  return splines;
}

std::vector<LogSizes> operand_slots_of(std::span<const SurfacePoint> points) {
  std::vector<LogSizes> places;
  places.reserve(points.size());
  for (const SurfacePoint& point : points) places.push_back(point.at);
  return places;
}

/// Squared distances of points from the nodes.
class SquaredDistances {
 public:
  SquaredDistances(const OctaveLattice& lattice, std::span<const LogSizes> places) {
    for (std::size_t axis = 0; axis < along_.size(); ++axis) {
      along_[axis].resize(static_cast<Eigen::Index>(places.size()),
                          static_cast<Eigen::Index>(lattice.nodes(axis)));
      for (std::size_t node = 0; node < lattice.nodes(axis); ++node)
        for (std::size_t i = 0; i < places.size(); ++i) {
          const double x = places[i][axis] - lattice.octave(axis, node);
          along_[axis](static_cast<Eigen::Index>(i), static_cast<Eigen::Index>(node)) = x * x;
        }
    }
  }

  /// Calls visit(squares) for all nodes, in the order of their indices.
  template <typename Visit>
  void for_each_node(const Visit& visit) const {
    for (Eigen::Index m = 0; m < along_[0].cols(); ++m)
      for (Eigen::Index n = 0; n < along_[1].cols(); ++n) {
        const Eigen::ArrayXd in_plane = along_[0].col(m) + along_[1].col(n);
        for (Eigen::Index k = 0; k < along_[2].cols(); ++k) visit(in_plane + along_[2].col(k));
      }
  }

 private:
  std::array<Eigen::ArrayXXd, 3> along_;  // For each axis: points by nodes.
};

double between(double low, double high, double share) { return low + share * (high - low); }

}  // namespace

LogSizes log_sizes(double m, double n, double k) {
  return {std::log2(std::max(m, 1.0)), std::log2(std::max(n, 1.0)), std::log2(std::max(k, 1.0))};
}

LogSizes log_sizes(const Problem& p) {
  return log_sizes(static_cast<double>(p.m), static_cast<double>(p.n), static_cast<double>(p.k));
}

OctaveLattice::OctaveLattice(std::span<const LogSizes> places) {
  for (std::size_t i = 0; i < axes_.size(); ++i) {
    const auto [low, high] =
        std::ranges::minmax(places, {}, [i](const LogSizes& place) { return place[i]; });
    Axis& axis = axes_[i];
    axis.low = low[i];
    axis.high = high[i];
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
  std::vector<double> values;
  values.reserve(points.size());
  for (const SurfacePoint& point : points) values.push_back(point.value);
  *this = through(operand_slots_of(points), {&values, 1}, smoothing_octaves).front();
}

std::vector<Surface> Surface::through(std::span<const LogSizes> places,
                                      std::span<const std::vector<double>> values,
                                      double smoothing_octaves) {
  std::vector<Surface> surfaces(values.size());
  if (places.empty()) return surfaces;
  const Scattered points = merge_duplicates(places, values);
  const OctaveLattice lattice(points.places);
  const Splines splines = fit(points, smoothing_octaves);
  for (Surface& surface : surfaces) surface.lattice_ = lattice;
  Eigen::VectorXd distances;
  SquaredDistances(lattice, points.places).for_each_node([&](const auto& squares) {
    distances = squares.sqrt().matrix();
    for (std::size_t i = 0; i < surfaces.size(); ++i) {
      const auto spline = static_cast<Eigen::Index>(i);
      surfaces[i].values_.push_back(splines.constants[spline] -
                                    splines.weights.col(spline).dot(distances));
    }
  });
  return surfaces;
}

double Surface::at(const LogSizes& sizes) const {
  std::array<std::size_t, 3> low, step;  // Step 0 on an axis with one node.
  std::array<double, 3> share;           // Weight of the upper neighbour.
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
  const std::vector<LogSizes> places = operand_slots_of(points);
  lattice_ = OctaveLattice(places);
  SquaredDistances(lattice_, places).for_each_node([&](const auto& squares) {
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
