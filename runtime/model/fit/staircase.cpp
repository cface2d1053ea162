#include "runtime/model/fit/staircase.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace rooftile {
namespace {

constexpr double kSecondStep = 1.5;  // Times the first step: between one wave and two.
constexpr double kThirdStep = 2.5;

double misfit(std::span<const Stair> stairs, double first_ns, std::size_t units) {
  double sum = 0;
  for (const Stair& stair : stairs) {
    const auto waves = static_cast<double>((stair.workgroups + units - 1) / units);
    sum += std::abs(std::log(stair.ns / (first_ns * waves)));
  }
  return sum;
}

}  // namespace

std::size_t units_of_staircase(std::span<const Stair> stairs) {
  if (stairs.empty()) return 1;
  const double first_ns = std::ranges::min(stairs, {}, &Stair::workgroups).ns;
  const std::size_t most = std::ranges::max(stairs, {}, &Stair::workgroups).workgroups;
  std::size_t best = 1;
  double least = std::numeric_limits<double>::infinity();
  for (std::size_t units = 1; units <= most; ++units)
    if (const double now = misfit(stairs, first_ns, units); now < least) {
      least = now;
      best = units;
    }
  return best;
}

std::vector<Stair> climb(const std::function<double(std::size_t)>& time_ns,
                         std::size_t most_workgroups) {
  std::vector<Stair> stairs;
  const auto measure = [&](std::size_t workgroups) {
    stairs.push_back({workgroups, time_ns(workgroups)});
    return stairs.back().ns;
  };
  const double first_ns = measure(1);
  std::size_t on_first = 1, on_second = most_workgroups;
  for (std::size_t workgroups = 2; workgroups <= most_workgroups;
       workgroups += (workgroups + 1) / 2) {
    const double ns = measure(workgroups);
    if (ns < kSecondStep * first_ns)
      on_first = workgroups;
    else
      on_second = std::min(on_second, workgroups);
    if (ns >= kThirdStep * first_ns) break;
  }
  // Halves the gap in which the first step ends.
  while (on_second > on_first + 1) {
    const std::size_t between = on_first + (on_second - on_first) / 2;
    (measure(between) < kSecondStep * first_ns ? on_first : on_second) = between;
  }
  return stairs;
}

}  // namespace rooftile
