#include "runtime/model/selector.h"

#include <Eigen/Cholesky>
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

#include "runtime/model/roofline.h"

namespace rooftile {
namespace {

// Natural logarithms throughout: spread of a measured time around its terms, of a factor of all
// kernels around 1, and of a kernel's factor around that of all. With these and the interpolation's
// parameters two to four times smaller or larger, choices on lavapipe cost the same within noise.
constexpr double kTimeSpread = 0.15, kCommonSpread = 0.5, kFactorSpread = 0.5;
constexpr int kIterations = 12;
constexpr double kLongestStep = 1.5;  // Change of a factor's logarithm in one iteration.
// Interpolation: smooth share of the variance, noise share, and the distance in octaves over which
// correlation fades.
constexpr double kSmoothVariance = 0.05, kNoiseVariance = 0.02, kOctaves = 2;

Eigen::Index index(std::size_t i) { return static_cast<Eigen::Index>(i); }

bool is_time(double ns) { return ns > 0 && std::isfinite(ns); }

template <std::size_t kCount>
double dot(const std::array<double, kCount>& x, const std::array<double, kCount>& y) {
  double sum = 0;
  for (std::size_t i = 0; i < kCount; ++i) sum += x[i] * y[i];
  return sum;
}

/// Rounds up. std::ceil is a call where the compiler may not use SSE 4.1, which prevents
/// vectorisation. x is not negative; from 2^52 on there is nothing to round.
double round_up(double x) {
  constexpr double kUnit = 0x1p52;  // From here on neighbouring values are 1 apart.
  const double whole = (x + kUnit) - kUnit;
  return whole + (whole < x ? 1.0 : 0.0);
}

double blocks(double size, double block) { return round_up(size / block); }

constexpr auto kScale = static_cast<float>(1 / (2 * kOctaves * kOctaves));

float covariance(float squared_distance) {
  return static_cast<float>(kSmoothVariance) / (1 + kScale * squared_distance);
}

/// ns of one more step of k of a workgroup by the calibrated rates: the slope of analytical_ns.
double slope_in_k(const Variant& v, const Problem& of_class, const DeviceRates& rates) {
  constexpr std::int64_t kShort = 1024, kLong = 2048;
  Variant bare = v;  // Packing is a separate term.
  bare.packed_a = bare.packed_b = Packed::kNo;
  const auto ns = [&](std::int64_t k) {
    return analytical_ns(packed_problem(v.tile_m, v.tile_n, k, of_class.trans_a, of_class.trans_b,
                                        1, of_class.types),
                         bare, rates);
  };
  // One workgroup uses one unit, because analytical_ns divides by the share of units that are busy.
  return std::max((ns(kLong) - ns(kShort)) / (kLong - kShort), 1e-3);
}

}  // namespace

Selector::LogPoint Selector::log_point(const LogSizes& logs, double batch) {
  return {static_cast<float>(logs[0]), static_cast<float>(logs[1]), static_cast<float>(logs[2]),
          batch > 1 ? static_cast<float>(std::log2(batch)) : 0.0f};
}

/// Fits the logarithms of the factors: the sums of terms come close to the times (squares of log
/// ratios), and the factors stay close to the expected ones. Gauss-Newton, damped by limiting the
/// step length.
Selector::Terms Selector::fit_factors(std::span<const Timing> timings, const Terms& expected,
                                      double spread) {
  using Vector = Eigen::Matrix<double, kTerms, 1>;
  const double pull = kTimeSpread * kTimeSpread / (spread * spread);
  Terms logs = expected;
  for (int iteration = 0; iteration < kIterations; ++iteration) {
    Terms factors;
    Vector gradient;
    Eigen::Matrix<double, kTerms, kTerms> matrix = pull * decltype(matrix)::Identity();
    for (std::size_t i = 0; i < kTerms; ++i) {
      factors[i] = std::exp(logs[i]);
      gradient[index(i)] = -pull * (logs[i] - expected[i]);
    }
    for (const Timing& timing : timings) {
      const double sum = dot(factors, timing.terms), miss = timing.log_ns - std::log(sum);
      const Vector share = Eigen::Map<const Vector>(factors.data())
                               .cwiseProduct(Eigen::Map<const Vector>(timing.terms.data())) /
                           sum;
      gradient += share * miss;
      matrix += share * share.transpose();
    }
    const Vector step = matrix.llt().solve(gradient);
    for (std::size_t i = 0; i < kTerms; ++i)
      logs[i] += std::clamp(step[index(i)], -kLongestStep, kLongestStep);
  }
  return logs;
}

void Selector::add_shape(const Variant& v, const Problem& of_class, const DeviceRates& rates) {
  constexpr double kFloat = 4;  // Packed operands and partial sums are float32.
  const bool packed_a = v.packed_a == Packed::kYes, packed_b = v.packed_b == Packed::kYes;
  const std::size_t i = kernels_++;
  shapes_.tile_m[i] = v.tile_m;
  shapes_.tile_n[i] = v.tile_n;
  shapes_.tile_batch[i] = v.tile_batch;
  shapes_.split_k[i] = v.split_k;
  shapes_.dispatches[i] = 1.0 + packed_a + packed_b + (v.split_k > 1);
  shapes_.step_ns[i] = slope_in_k(v, of_class, rates) / v.split_k;
  shapes_.a_bytes[i] = packed_a ? bytes_a_ + kFloat : 0;
  shapes_.b_bytes[i] = packed_b ? bytes_b_ + kFloat : 0;
  shapes_.c_bytes[i] = v.split_k > 1 ? (v.split_k + 1) * kFloat : 0;
}

inline Selector::Terms Selector::terms(std::size_t kernel, const Sizes& sizes) const {
  const auto [m, n, k, batch] = sizes;
  const Shapes& s = shapes_;
  const double workgroups = blocks(m, s.tile_m[kernel]) * blocks(n, s.tile_n[kernel]) *
                            blocks(batch, s.tile_batch[kernel]) * s.split_k[kernel];
  const double workgroup_ns = k * s.step_ns[kernel];
  const double moved =
      m * n * s.c_bytes[kernel] + m * k * s.a_bytes[kernel] + k * n * s.b_bytes[kernel];
  // Half of the work is assumed to be distributed evenly, half to wait for the busiest unit.
  return {s.dispatches[kernel] * dispatch_ns_,
          workgroups * workgroup_ns_,
          0.5 * workgroups * per_unit_ * workgroup_ns,
          0.5 * round_up(workgroups * per_unit_) * workgroup_ns,
          batch * moved * ns_per_byte_,
          batch * (m * k * bytes_a_ + k * n * bytes_b_ + m * n * bytes_c_) * ns_per_byte_};
}

inline double Selector::sum(std::size_t kernel, const Terms& terms) const {
  double ns = 0;
  for (std::size_t i = 0; i < kTerms; ++i) ns += factors_[i][kernel] * terms[i];
  return ns;
}

Selector::Selector(const Problem& of_class, const DeviceRates& rates,
                   std::span<const MeasuredKernel> kernels)
    : dispatch_ns_(std::max(rates.dispatch_ns, 1.0)),
      workgroup_ns_(std::max(rates.workgroup_ns, 1.0)),
      ns_per_byte_(1 / std::max(memory_gbps(rates), 1.0)),
      per_unit_(1 / std::max(rates.compute_units, 1.0)),
      bytes_a_(static_cast<double>(bytes_of(of_class.types.a))),
      bytes_b_(bytes_per_element_b(of_class.types)),
      bytes_c_(static_cast<double>(bytes_of(of_class.types.c))) {
  const std::size_t count = std::min(kernels.size(), kMostKernels);
  std::vector<Timings> timings(count);
  Timings all;
  std::vector<MeasuredTime> points;
  for (std::size_t i = 0; i < count; ++i) {
    add_shape(kernels[i].variant, of_class, rates);
    for (const MeasuredTime& t : kernels[i].times) {
      if (!is_time(t.ns)) continue;
      const auto known =
          std::ranges::find_if(points, [&](const MeasuredTime& x) { return same_sizes(x, t); });
      timings[i].push_back({terms(i, sizes_of(t)), std::log(t.ns),
                            static_cast<std::size_t>(known - points.begin())});
      if (known == points.end()) points.push_back(t);
    }
    all.insert(all.end(), timings[i].begin(), timings[i].end());
  }
  const Terms common = fit_factors(all, {}, kCommonSpread);
  for (std::size_t i = 0; i < count; ++i) {
    const Terms logs = fit_factors(timings[i], common, kFactorSpread);
    for (std::size_t term = 0; term < kTerms; ++term) factors_[term][i] = std::exp(logs[term]);
  }
  interpolate(points, timings);
}

/// Interpolates the residuals of the sums; they count as 0 where a kernel was not measured.
void Selector::interpolate(std::span<const MeasuredTime> points, std::span<const Timings> timings) {
  points_ = points.size();
  std::vector<LogPoint> places;
  for (const MeasuredTime& t : points) {
    const auto [m, n, k, batch] = sizes_of(t);
    places.push_back(log_point(log_sizes(m, n, k), batch));
  }
  for (std::size_t axis = 0; axis < LogPoint().size(); ++axis)
    for (const LogPoint& place : places) places_.push_back(place[axis]);
  // Only entries on and below the diagonal are set.
  Eigen::MatrixXd matrix(index(points_), index(points_));
  Eigen::MatrixXd misses = Eigen::MatrixXd::Zero(index(points_), index(kernels_));
  for (std::size_t x = 0; x < points_; ++x) {
    for (std::size_t y = 0; y <= x; ++y) {
      float squared = 0;
      for (std::size_t axis = 0; axis < LogPoint().size(); ++axis) {
        const float d = places[x][axis] - places[y][axis];
        squared += d * d;
      }
      matrix(index(x), index(y)) = static_cast<double>(covariance(squared));
    }
    matrix(index(x), index(x)) += kNoiseVariance;
  }
  for (std::size_t i = 0; i < kernels_; ++i)
    for (const Timing& timing : timings[i])
      misses(index(timing.point), index(i)) = timing.log_ns - std::log(sum(i, timing.terms));
  if (points_ > 0) matrix.selfadjointView<Eigen::Lower>().llt().solveInPlace(misses);
  weights_.resize(points_);
  for (std::size_t x = 0; x < points_; ++x)
    for (std::size_t i = 0; i < kernels_; ++i)
      weights_[x][i] = static_cast<float>(misses(index(x), index(i)));
}

Selector::Times Selector::predict_ns(const Problem& p, const LogSizes& logs) const {
  Times predicted;
  predicted.fill(std::numeric_limits<double>::infinity());
  const Sizes sizes = sizes_of(p);
  for (std::size_t i = 0; i < kernels_; ++i) predicted[i] = sum(i, terms(i, sizes));
  // Handles a block of points at a time, which needs no allocation and lets the compiler vectorise.
  constexpr std::size_t kPart = 64;
  const LogPoint place = log_point(logs, sizes.batch);
  // An Eigen array instead of a loop over kernels: gcc 12 makes scalar code of a loop of known
  // length, and of another loop code that keeps no sum in a register (a decision with 16 kernels
  // and 100 points takes 610 ns instead of 510).
  using PerKernel = Eigen::Array<float, kMostKernels, 1>;
  PerKernel corrections = PerKernel::Zero();
  for (std::size_t begin = 0; begin < points_; begin += kPart) {
    const std::size_t count = std::min(kPart, points_ - begin);
    std::array<float, kPart> near = {};
    for (std::size_t axis = 0; axis < place.size(); ++axis) {
      const float* const along = &places_[axis * points_ + begin];
      for (std::size_t x = 0; x < count; ++x)
        near[x] += (along[x] - place[axis]) * (along[x] - place[axis]);
    }
    for (std::size_t x = 0; x < count; ++x) near[x] = covariance(near[x]);
    for (std::size_t x = 0; x < count; ++x)
      corrections += near[x] * Eigen::Map<const PerKernel>(weights_[begin + x].data());
  }
  for (std::size_t i = 0; i < kernels_; ++i)
    predicted[i] *= static_cast<double>(std::exp(corrections[index(i)]));
  return predicted;
}

Selector::Coefficients Selector::coefficients() const {
  Coefficients all = {
      .per_unit = per_unit_, .variance = static_cast<float>(kSmoothVariance), .scale = kScale};
  for (std::size_t i = 0; i < kernels_; ++i) {
    const auto factor = [&](std::size_t term) { return factors_[term][i]; };
    const double step = 0.5 * shapes_.step_ns[i], panels = factor(kPanels) * ns_per_byte_,
                 memory = factor(kPanels + 1) * ns_per_byte_;
    all.kernels.push_back({.tile_m = shapes_.tile_m[i],
                           .tile_n = shapes_.tile_n[i],
                           .tile_batch = shapes_.tile_batch[i],
                           .split_k = shapes_.split_k[i],
                           .constant = factor(kDispatches) * shapes_.dispatches[i] * dispatch_ns_,
                           .each = factor(1) * workgroup_ns_,
                           .step = factor(2) * step * per_unit_,
                           .wave = factor(3) * step,
                           .mn = panels * shapes_.c_bytes[i] + memory * bytes_c_,
                           .mk = panels * shapes_.a_bytes[i] + memory * bytes_a_,
                           .kn = panels * shapes_.b_bytes[i] + memory * bytes_b_});
  }
  for (std::size_t x = 0; x < points_; ++x) {
    Coefficients::Point point;
    for (std::size_t axis = 0; axis < point.at.size(); ++axis)
      point.at[axis] = places_[axis * points_ + x];
    point.weights.assign(weights_[x].begin(),
                         weights_[x].begin() + static_cast<std::ptrdiff_t>(kernels_));
    all.points.push_back(std::move(point));
  }
  return all;
}

Selector::Packing Selector::packing_ns(const Problem& p, const Times& predicted) const {
  Packing packing = {};
  const Sizes sizes = sizes_of(p);
  for (std::size_t i = 0; i < kernels_; ++i) {
    // The correction applies to all terms alike.
    const double ns_per_term = predicted[i] / sum(i, terms(i, sizes));
    const auto share = [&](double elements, double bytes) {
      if (bytes == 0) return 0.0;
      const double dispatched = factors_[kDispatches][i] * dispatch_ns_;
      const double moved = factors_[kPanels][i] * sizes.batch * elements * bytes * ns_per_byte_;
      return (dispatched + moved) * ns_per_term;
    };
    packing.a_ns[i] = share(sizes.m * sizes.k, shapes_.a_bytes[i]);
    packing.b_ns[i] = share(sizes.k * sizes.n, shapes_.b_bytes[i]);
  }
  return packing;
}

}  // namespace rooftile
