#include "runtime/model/calibration_drift.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <unordered_map>

#include "core/numbers/statistics.h"

namespace rooftile {
namespace {

constexpr double kDeviations = 2;  // 95 % of unchanged figures stay within.

}  // namespace

std::vector<FigureDrift> calibration_drift(std::span<const Figure> now,
                                           std::span<const Figure> before) {
  std::unordered_map<std::string_view, const Figure*> known;
  for (const Figure& figure : before) known.emplace(figure.name, &figure);
  std::vector<FigureDrift> drifts;
  for (const Figure& figure : now) {
    const auto found = known.find(figure.name);
    if (found == known.end()) continue;
    const Figure& old = *found->second;
    const double joint = kNormalDeviation * std::hypot(figure.mad, old.mad);
    drifts.push_back({.now = figure,
                      .before = old,
                      .ratio = old.value == figure.value ? 1
                               : old.value != 0          ? figure.value / old.value
                                                         : std::numeric_limits<double>::infinity(),
                      .beyond_spread = std::abs(figure.value - old.value) > kDeviations * joint});
  }
  return drifts;
}

}  // namespace rooftile
