#include "report/report_data.h"

#include <algorithm>
#include <cmath>

namespace rooftile {

double ProblemReport::default_ns() const { return outcome ? outcome->default_ns.value_or(0) : 0; }

std::string ProblemReport::largest_bound() const {
  return limiter.name.empty() ? "" : roofline.bounds.front().limiter;
}

std::string ProblemReport::limiter_name() const {
  return limiter.other.empty() ? limiter.name : limiter.name + " or " + limiter.other;
}

std::string ProblemReport::next_limiter() const {
  const std::vector<Bound>& bounds = roofline.bounds;
  return bounds.size() > 1 && bounds[1].ns > 0 ? bounds[1].limiter : "";
}

bool ProblemReport::counted() const {
  return std::ranges::any_of(
      levels, [](const LevelReport& level) { return level.modelled_bytes.has_value(); });
}

std::optional<double> FigureReport::drift() const {
  if (!before || before->value == 0) return std::nullopt;
  return figure.value / before->value - 1;
}

bool FigureReport::drifted() const {
  // Three standard deviations of the difference. The standard deviation of a normal distribution is
  // its median absolute deviation over 0.6745.
  constexpr double kSpreads = 3 / 0.6745;
  return before &&
         std::abs(figure.value - before->value) > kSpreads * std::hypot(figure.mad, before->mad);
}

}  // namespace rooftile
