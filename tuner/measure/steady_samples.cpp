#include "tuner/measure/steady_samples.h"

#include <algorithm>

#include "core/clock.h"

namespace rooftile {
namespace {

constexpr double kSpikeRatio = 1.25;

bool is_busy(const Reading& reading) { return reading.busy_share > kBusyShare; }

}  // namespace

SteadySamples steady_samples(int count, int most_retakes, const std::function<Reading()>& take,
                             const std::function<void(int)>& back_off) {
  SteadySamples samples;
  const auto retake = [&](bool after_back_off) {
    const double start = now_s();
    if (after_back_off) back_off(samples.retaken);
    ++samples.retaken;
    const Reading reading = take();
    samples.lost_s += now_s() - start;
    return reading;
  };
  for (int i = 0; i < count; ++i) {
    Reading reading = take();
    while (is_busy(reading) && samples.retaken < most_retakes) {
      const Reading again = retake(true);
      if (again.busy_share < reading.busy_share) reading = again;
    }
    samples.readings.push_back(reading);
  }
  if (samples.readings.empty()) return samples;
  const auto limit_ns = [&] {
    return kSpikeRatio *
           std::ranges::min_element(samples.readings, {}, &Reading::kernel_ns)->kernel_ns;
  };
  while (samples.retaken < most_retakes) {
    const auto slowest = std::ranges::max_element(samples.readings, {}, &Reading::kernel_ns);
    if (slowest->kernel_ns <= limit_ns()) break;
    const Reading again = retake(false);
    if (again.kernel_ns < slowest->kernel_ns) *slowest = again;
  }
  samples.noisy = static_cast<int>(
      std::ranges::count_if(samples.readings, [&, limit = limit_ns()](const Reading& reading) {
        return is_busy(reading) || reading.kernel_ns > limit;
      }));
  return samples;
}

}  // namespace rooftile
