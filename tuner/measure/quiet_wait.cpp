#include "tuner/measure/quiet_wait.h"

#include <chrono>
#include <cmath>
#include <optional>
#include <thread>
#include <utility>

namespace rooftile {

bool is_slowed(double ns, double usual_ns) {
  constexpr double kSlowed = 1.2;
  return usual_ns > 0 && std::isfinite(usual_ns) && ns > kSlowed * usual_ns;
}

QuietWait::QuietWait(double most_s, std::function<bool()> over, TimeAccount* account)
    : left_s_(most_s), over_(std::move(over)), account_(account) {}

bool QuietWait::wait(double discarded_s) {
  constexpr int kSlices = 5;
  constexpr std::chrono::duration<double> kSlice(0.05);
  const double taken_s = discarded_s + kSlices * kSlice.count();
  if (left_s_ < taken_s || over_()) return false;
  left_s_ -= taken_s;
  std::optional<TimeAccount::Scope> scope;
  if (account_ != nullptr) scope.emplace(*account_, Activity::kQuietWaits);
  for (int i = 0; i < kSlices && !over_(); ++i) std::this_thread::sleep_for(kSlice);
  return true;
}

}  // namespace rooftile
