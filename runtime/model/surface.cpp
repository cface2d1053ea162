#include "runtime/model/surface.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <utility>

#include "runtime/model/linear_system.h"

namespace rooftile {
namespace {

// Not std::hypot: octaves are far from overflow, and preparation is mostly this.
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
  std::vector<SurfacePoint> points;  // value: the kernel's weight
  double constant = 0;

  double at(const LogSizes& sizes) const {
    double sum = constant;
    for (const SurfacePoint& point : points) sum -= point.value * distance(point.at, sizes);
    return sum;
  }
};

Spline fit(std::span<const SurfacePoint> points) {
  Spline spline{.points = merge_duplicates(points)};
  // Last row and column: weights sum to 0, and the constant.
  const std::size_t n = spline.points.size() + 1;
  std::vector<double> matrix(n * n, 1.0), x(n, 0.0);
  for (std::size_t i = 0; i + 1 < n; ++i) {
    for (std::size_t j = 0; j + 1 < n; ++j)
      matrix[i * n + j] = -distance(spline.points[i].at, spline.points[j].at);
    x[i] = spline.points[i].value;
  }
  matrix.back() = 0;
  solve(matrix, x);
  for (std::size_t i = 0; i + 1 < n; ++i) spline.points[i].value = x[i];
  spline.constant = x.back();
  return spline;
}

std::uint32_t nearest_point(std::span<const SurfacePoint> points, const LogSizes& sizes) {
  double best = std::numeric_limits<double>::infinity();
  std::uint32_t index = 0;
  for (std::size_t i = 0; i < points.size(); ++i) {
    const double d = distance(points[i].at, sizes);
    if (d < best) {
      best = d;
      index = static_cast<std::uint32_t>(i);
    }
  }
  return index;
}

}  // namespace

LogSizes log_sizes(double m, double n, double k) {
  return {std::log2(std::max(m, 1.0)), std::log2(std::max(n, 1.0)), std::log2(std::max(k, 1.0))};
}

LogSizes log_sizes(const Problem& p) {
  return log_sizes(static_cast<double>(p.m), static_cast<double>(p.n), static_cast<double>(p.k));
}

Surface::Surface(std::span<const SurfacePoint> points) {
  if (points.empty()) return;
  for (std::size_t i = 0; i < axes_.size(); ++i) {
    const auto [low, high] =
        std::ranges::minmax(points, {}, [i](const SurfacePoint& point) { return point.at[i]; });
    Axis& axis = axes_[i];
    axis.low = low.at[i];
    axis.high = high.at[i];
    axis.origin = std::floor(axis.low);
    axis.nodes = static_cast<std::size_t>(std::ceil(axis.high) - axis.origin) + 1;
  }
  const Spline spline = fit(points);
  values_.reserve(axes_[0].nodes * axes_[1].nodes * axes_[2].nodes);
  nearest_.reserve(values_.capacity());
  LogSizes sizes;
  for (std::size_t i = 0; i < axes_[0].nodes; ++i) {
    sizes[0] = axes_[0].origin + static_cast<double>(i);
    for (std::size_t j = 0; j < axes_[1].nodes; ++j) {
      sizes[1] = axes_[1].origin + static_cast<double>(j);
      for (std::size_t l = 0; l < axes_[2].nodes; ++l) {
        sizes[2] = axes_[2].origin + static_cast<double>(l);
        values_.push_back(spline.at(sizes));
        nearest_.push_back(nearest_point(points, sizes));
      }
    }
  }
}

double Surface::node(std::size_t axis, const LogSizes& sizes) const {
  const Axis& a = axes_[axis];
  return std::clamp(sizes[axis], a.low, a.high) - a.origin;
}

double Surface::at(const LogSizes& sizes) const {
  std::array<std::size_t, 3> low, step;  // step 0 on an axis with one node
  std::array<double, 3> share;           // of the upper neighbour
  for (std::size_t i = 0; i < axes_.size(); ++i) {
    const double x = node(i, sizes);
    low[i] = std::min(static_cast<std::size_t>(x), axes_[i].nodes < 2 ? 0 : axes_[i].nodes - 2);
    step[i] = axes_[i].nodes < 2 ? 0 : 1;
    share[i] = x - static_cast<double>(low[i]);
  }
  const std::size_t row = axes_[2].nodes, plane = axes_[1].nodes * row;
  const double* corner = &values_[low[0] * plane + low[1] * row + low[2]];
  const auto along_k = [&](std::size_t offset) {
    return std::lerp(corner[offset], corner[offset + step[2]], share[2]);
  };
  const auto along_n = [&](std::size_t offset) {
    return std::lerp(along_k(offset), along_k(offset + step[1] * row), share[1]);
  };
  return std::lerp(along_n(0), along_n(step[0] * plane), share[0]);
}

std::size_t Surface::nearest(const LogSizes& sizes) const {
  std::array<std::size_t, 3> at;
  for (std::size_t i = 0; i < axes_.size(); ++i)
    at[i] = static_cast<std::size_t>(std::lround(node(i, sizes)));
  return nearest_[(at[0] * axes_[1].nodes + at[1]) * axes_[2].nodes + at[2]];
}

}  // namespace rooftile
