#include "tuner/worker/watchdog.h"

#include <algorithm>
#include <utility>

#include "core/numbers/statistics.h"
#include "tuner/worker/measure.h"

namespace rooftile {
namespace {

// Some kernels take many times as long as others, and on a busy machine a few times as long as
// before.
constexpr double kTimesMedian = 10, kTimesLongest = 3;
// Rate of filling operands, at least and on an idle machine.
constexpr double kFillBytesPerS = 20e6, kUsualFillBytesPerS = 1e9;
constexpr int kCountRuns = 17;

double allowed_s(const WatchdogLimits::Allowance& allowance, const std::vector<double>& seen_s) {
  if (seen_s.empty()) return allowance.first_s;
  return std::max({allowance.least_s, std::min(kTimesMedian * median(seen_s), allowance.first_s),
                   kTimesLongest * std::ranges::max(seen_s)});
}

}  // namespace

double Watchdog::compilation_s() const {
  std::vector<double> seen_s;
  for (const auto& [candidate, seconds] : compile_s_) seen_s.push_back(seconds);
  return allowed_s(limits_.compilation, seen_s);
}

// Returns the allowed time for filling the operands.
double Watchdog::preparation_s(const Problem& problem) const {
  return operand_bytes(problem, rotate_bytes_) / kFillBytesPerS;
}

double Watchdog::usual_preparation_s(const Problem& problem, pid_t worker) const {
  const bool kept =
      keeps_operands_ ? std::ranges::find(kept_, problem) != kept_.end() : prepared_ == problem;
  if (prepared_worker_ == worker && kept) return 0;
  return operand_bytes(problem, rotate_bytes_) / kUsualFillBytesPerS;
}

double Watchdog::timing_s(const Problem& problem, int samples, double limit_s, pid_t worker) const {
  const bool prepared = prepared_worker_ == worker && prepared_ == problem;
  // Two more runs are one that is not timed and the probe.
  return compilation_s() + (prepared ? 0.0 : preparation_s(problem)) +
         2 * limit_s * (samples + kMostRetakes + 2);
}

double Watchdog::certification_s() const {
  return allowed_s(limits_.certification, certification_s_);
}

double Watchdog::counting_s(const Problem& problem, double kernel_ns) const {
  return compilation_s() + preparation_s(problem) + limits_.counting_s +
         2 * kCountRuns * kernel_ns * 1e-9;
}

void Watchdog::timed(RowId candidate, double compile_s, const Problem& problem, pid_t worker) {
  compile_s_.emplace(candidate, compile_s);
  if (std::exchange(prepared_worker_, worker) != worker) kept_.clear();
  prepared_ = problem;
  if (std::ranges::find(kept_, problem) == kept_.end()) kept_.push_back(problem);
}

}  // namespace rooftile
