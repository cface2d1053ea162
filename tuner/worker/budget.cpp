#include "tuner/worker/budget.h"

#include <algorithm>

#include "core/clock.h"

namespace rooftile {
namespace {

constexpr double kGraceS = 5;  // Time past the budget in which a running candidate may finish.

}  // namespace

Budget::Budget(double seconds) : seconds_(seconds), start_s_(now_s()) {}

double Budget::elapsed_s() const { return now_s() - start_s_; }

double Budget::deadline_s(double watchdog_s) const {
  return std::min(watchdog_s, std::max(0.0, left_s()) + kGraceS);
}

}  // namespace rooftile
