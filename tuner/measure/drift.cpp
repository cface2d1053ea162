#include "tuner/measure/drift.h"

#include <algorithm>
#include <cmath>
#include <span>

#include "core/numbers/statistics.h"

namespace rooftile {
namespace {

constexpr double kLeastTolerance = 0.01;  // A device's clock is hardly more precise.
// Times the spread between neighbours: exceeded by one in thousands.
constexpr double kDeviations = 4;

}  // namespace

// The tolerance is computed from neighbouring readings, so that a drift that is slow compared with
// the readings does not widen it.
double Drift::tolerance() const {
  std::vector<double> steps;
  for (std::size_t i = 1; i < readings_ns_.size(); ++i)
    steps.push_back(std::abs(std::log(readings_ns_[i] / readings_ns_[i - 1])));
  // The median of the absolute difference of two normal readings is 0.954 deviations.
  return steps.empty() ? kLeastTolerance
                       : std::max(kLeastTolerance, kDeviations * median(steps) / 0.954);
}

double Drift::recent_ns() const {
  const std::size_t count = std::min(kWindow, readings_ns_.size());
  return median(std::span(readings_ns_).last(count));
}

double Drift::level() const {
  if (readings_ns_.size() <= kWindow) return 1;
  const double ratio = recent_ns() / median(std::span(readings_ns_).first(kWindow));
  return std::abs(std::log(ratio)) > tolerance() ? ratio : 1;
}

std::optional<double> Drift::slowdown() const {
  if (readings_ns_.size() < 2 * kWindow) return std::nullopt;
  const double ratio = level();
  return ratio == 1 ? std::nullopt : std::optional(ratio);
}

bool Drift::moved(double reference_ns) const {
  return readings_ns_.size() >= kWindow &&
         std::abs(std::log(reference_ns / recent_ns())) > tolerance();
}

}  // namespace rooftile
