#include "tuner/measure/probe.h"

#include <chrono>
#include <thread>
#include <utility>

#include "core/numbers/statistics.h"
#include "generator/compile.h"
#include "tuner/measure/processor_time.h"

namespace rooftile {
namespace {

constexpr double kTargetNs = 2e6;
constexpr std::chrono::milliseconds kFirstBackOff{5};
constexpr std::uint32_t kMostTrips = 1u << 24;

}  // namespace

TimedDispatch::TimedDispatch(Device& device, const DispatchStep& step)
    : device_(device), list_(device.record(std::vector<Step>{step}, Timing::kPerStep)) {}

Reading TimedDispatch::take() {
  const bool on_host = device_.profile().kind == DeviceKind::kSoftware;
  const ProcessorTime before = on_host ? processor_time_now() : ProcessorTime();
  Reading reading{.kernel_ns = std::max(1.0, device_.run(list_, kProbeTimeoutNs).step_ns.front())};
  const ProcessorTime used = on_host ? processor_time_now() - before : ProcessorTime();
  reading.busy_share = busy_share(used, occupancy_);
  occupancy_ = std::max(occupancy_, used.occupancy());
  return reading;
}

Probe::Probe(Device& device, const Shader& shader)
    : device_(device), pipeline_(device.create_pipeline(compile(shader), shader.interface)) {}

std::vector<double> Probe::times(TimedDispatch dispatch, int samples) {
  dispatch.take();
  const SteadySamples steady = steady_samples(
      samples, kMostRetakes, [&] { return dispatch.take(); },
      [](int before) { std::this_thread::sleep_for(kFirstBackOff * (1 << before)); });
  std::vector<double> times;
  for (const Reading& reading : steady.readings) times.push_back(reading.kernel_ns);
  return times;
}

std::uint32_t long_enough(const DeviceLimits& limits,
                          const std::function<double(std::uint32_t)>& timed, std::uint32_t trips) {
  const std::uint32_t most = limits.max_loop_trips > 0 ? limits.max_loop_trips : kMostTrips;
  // One reading can be long because the machine did something else; two in a row rarely are.
  const auto too_short = [&] { return timed(trips) < kTargetNs || timed(trips) < kTargetNs; };
  while (trips < most && too_short()) trips = std::min(4 * trips, most);
  return trips;
}

std::vector<double> rates(double amount, const std::vector<double>& times_ns) {
  std::vector<double> result;
  for (double ns : times_ns) result.push_back(amount / ns);
  return result;
}

Figure figure_of(const std::string& name, const std::string& unit,
                 const std::vector<double>& sample) {
  return {name, unit, median(sample), median_absolute_deviation(sample), sample.size()};
}

}  // namespace rooftile
