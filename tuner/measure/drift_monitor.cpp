#include "tuner/measure/drift_monitor.h"

#include <algorithm>
#include <chrono>
#include <thread>

#include "core/clock.h"

namespace rooftile {
namespace {

// Often enough to see a device warm up, and at most a fiftieth of the time.
constexpr double kEveryS = 2, kShare = 0.02;
// A changed reading is repeated, because another program may end in a moment.
constexpr int kRepeats = 3;
constexpr std::chrono::milliseconds kPause(50);  // Doubled each time.

}  // namespace

void DriftMonitor::update(const std::function<std::optional<double>()>& time_reference,
                          const std::function<bool()>& over) {
  if (failed_ || now_s() < due_s_) return;
  const double start_s = now_s();
  for (int attempt = 0; !over(); ++attempt) {
    const std::optional<double> reading = time_reference();
    if (!reading) {
      failed_ = true;
      return;
    }
    const bool moved = drift_.moved(*reading);
    drift_.add(*reading);
    if (drift_.readings() < Drift::kWindow) continue;
    if (!moved || attempt >= kRepeats) break;
    std::this_thread::sleep_for(kPause * (1 << attempt));
  }
  const double end_s = now_s();
  due_s_ = end_s + std::max(kEveryS, (end_s - start_s) / kShare);
}

}  // namespace rooftile
