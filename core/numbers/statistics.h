// Robust statistics of small samples. Pure functions; samples may come in any order.
#pragma once

#include <cstddef>
#include <span>

namespace rooftile {

/// Ratios for a normal distribution: its standard deviation over its median absolute deviation, and
/// the standard error of a sample's median over that of its mean.
inline constexpr double kNormalDeviation = 1.4826, kMedianError = 1.2533;

struct Interval {
  double low, high;
};

/// Throws kInvalidArgument for an empty sample, which has no median.
double median(std::span<const double> sample);
/// Median absolute deviation from the median, unscaled.
double median_absolute_deviation(std::span<const double> sample);
/// Distribution-free 95 % interval of the median from order statistics (binomial; Conover,
/// Practical Nonparametric Statistics, 3.2). Fewer than six samples cannot reach 95 %: then it is
/// the sample's range.
Interval median_interval(std::span<const double> sample);
/// Geometric mean of positive values; throws kInvalidArgument on an empty sample or a value that is
/// not positive.
double geometric_mean(std::span<const double> sample);

/// The summary of a set of timings.
struct Summary {
  double median_ns = 0, mad_ns = 0, low_ns = 0, high_ns = 0;  // low and high: median_interval
  std::size_t count = 0;
};
Summary summarize(std::span<const double> sample_ns);

}  // namespace rooftile
