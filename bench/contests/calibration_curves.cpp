#include "bench/contests/calibration_curves.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "bench/contests/program.h"
#include "core/error.h"
#include "core/numbers/statistics.h"

namespace rooftile {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// The value that a further one exceeds with a probability of 1 - p, interpolated between order
/// statistics; infinite where the sample is too small to say.
double at_most(const std::vector<double>& sorted, double p) {
  const double rank = p * (static_cast<double>(sorted.size()) + 1);
  if (rank < 1) return -kInfinity;
  if (rank > static_cast<double>(sorted.size())) return kInfinity;
  const auto below = static_cast<std::size_t>(rank);
  const double next = sorted[std::min(below, sorted.size() - 1)];
  return std::lerp(sorted[below - 1], next, rank - static_cast<double>(below));
}
double at_least(const std::vector<double>& sorted, double p) {
  std::vector<double> negative(sorted.rbegin(), sorted.rend());
  for (double& x : negative) x = -x;
  return -at_most(negative, p);
}

}  // namespace

void CalibrationCurve::add(Shape shape, std::vector<double> known, double held) {
  std::ranges::sort(known);
  ++count_;
  for (std::size_t i = 0; i < kStated.size(); ++i) {
    const bool low = shape == Shape::kLow;
    const double each = low ? kStated[i] : (1 + kStated[i]) / 2;
    const double high = at_most(known, each), least = low ? -kInfinity : at_least(known, each);
    inside_[i] += least <= held && held <= high ? 1 : 0;
    lengths_[i].push_back(low ? high : high - least);
  }
}

double CalibrationCurve::observed(std::size_t i) const {
  return static_cast<double>(inside_[i]) / static_cast<double>(count_);
}

double CalibrationCurve::length(std::size_t i) const { return median(lengths_[i]); }

void Probabilities::add(double stated, bool happened) {
  Fifth& fifth = fifths_[std::min<std::size_t>(4, static_cast<std::size_t>(stated * 5))];
  ++fifth.count;
  fifth.happened += happened ? 1 : 0;
  fifth.stated += stated;
}

void print(const Curves& curves) {
  fmt::print("{:<34}{:>7}", "share inside; stated:", "cases");
  for (const double stated : CalibrationCurve::kStated) fmt::print("{:>7.0f} %", 100 * stated);
  fmt::print("\n");
  for (const auto& [name, curve] : curves) {
    fmt::print("{:<34}{:>7}", name, curve.count());
    for (std::size_t i = 0; i < CalibrationCurve::kStated.size(); ++i)
      fmt::print("{:>7.1f} %", 100 * curve.observed(i));
    fmt::print("\n{:<41}", "  median length or upper end");
    for (std::size_t i = 0; i < CalibrationCurve::kStated.size(); ++i)
      fmt::print("{:>9.3f}", curve.length(i));
    fmt::print("\n");
  }
}

void print(const std::string& event, const Probabilities& probabilities) {
  for (const Probabilities::Fifth& fifth : probabilities.fifths())
    if (fifth.count > 0)
      fmt::print("{}: stated {:.1f} %, observed {:.1f} % of {}\n", event,
                 100 * fifth.stated / fifth.count, 100.0 * fifth.happened / fifth.count,
                 fifth.count);
}

void write_csv(const std::string& file, const Curves& curves, const std::string& event,
               const Probabilities& probabilities) {
  CsvFile csv(file, "forecast,stated,observed,length,cases");
  for (const auto& [name, curve] : curves)
    for (std::size_t i = 0; i < CalibrationCurve::kStated.size(); ++i)
      csv.add(fmt::format("{},{},{:.4f},{:.4f},{}", name, CalibrationCurve::kStated[i],
                          curve.observed(i), curve.length(i), curve.count()));
  for (const Probabilities::Fifth& fifth : probabilities.fifths())
    if (fifth.count > 0)
      csv.add(fmt::format("{},{:.4f},{:.4f},,{}", event, fifth.stated / fifth.count,
                          static_cast<double>(fifth.happened) / fifth.count, fifth.count));
}

}  // namespace rooftile
