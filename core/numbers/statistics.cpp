#include "core/numbers/statistics.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "core/error.h"

namespace rooftile {
namespace {

std::vector<double> sorted(std::span<const double> sample) {
  if (sample.empty()) fail(ErrorCode::kInvalidArgument, "statistics of an empty sample");
  std::vector<double> values(sample.begin(), sample.end());
  std::sort(values.begin(), values.end());
  return values;
}

double middle(const std::vector<double>& values) {
  const std::size_t half = values.size() / 2;
  return values.size() % 2 == 1 ? values[half] : 0.5 * (values[half - 1] + values[half]);
}

// Largest rank r with P(Binomial(n, 1/2) < r) <= 2.5 %; 0 when no rank is that safe.
std::size_t lower_rank(std::size_t n) {
  double probability = std::pow(0.5, static_cast<double>(n)), cumulative = 0;
  for (std::size_t r = 0; r < n; ++r) {
    cumulative += probability;
    if (cumulative > 0.025) return r;
    probability *= static_cast<double>(n - r) / static_cast<double>(r + 1);
  }
  return 0;
}

}  // namespace

double median(std::span<const double> sample) { return middle(sorted(sample)); }

double median_absolute_deviation(std::span<const double> sample) {
  const double center = median(sample);
  std::vector<double> deviations;
  deviations.reserve(sample.size());
  for (double x : sample) deviations.push_back(std::abs(x - center));
  return median(deviations);
}

Interval median_interval(std::span<const double> sample) {
  const std::vector<double> values = sorted(sample);
  // pow(0.5, n) underflows past n = 1074; the normal approximation is exact to a rank long before.
  const std::size_t n = values.size();
  std::size_t rank = 0;
  if (n < 1000) {
    rank = lower_rank(n);
  } else {
    const double real_n = static_cast<double>(n);
    rank = static_cast<std::size_t>(0.5 * real_n - 0.98 * std::sqrt(real_n));
  }
  return rank == 0 ? Interval{values.front(), values.back()}
                   : Interval{values[rank - 1], values[n - rank]};
}

double geometric_mean(std::span<const double> sample) {
  if (sample.empty()) fail(ErrorCode::kInvalidArgument, "geometric mean of an empty sample");
  double sum = 0;
  for (double x : sample) {
    if (!(x > 0))
      fail(ErrorCode::kInvalidArgument, "geometric mean of {}, which is not positive", x);
    sum += std::log(x);
  }
  return std::exp(sum / static_cast<double>(sample.size()));
}

Summary summarize(std::span<const double> sample_ns) {
  const Interval interval = median_interval(sample_ns);
  return {median(sample_ns), median_absolute_deviation(sample_ns), interval.low, interval.high,
          sample_ns.size()};
}

}  // namespace rooftile
