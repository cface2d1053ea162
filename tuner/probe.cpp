#include "tuner/probe.h"

#include "core/statistics.h"
#include "generator/compile.h"

namespace rooftile {
namespace {

constexpr double kTargetNs = 2e6;
constexpr std::uint32_t kMostTrips = 1u << 24;

}  // namespace

Probe::Probe(Device& device, const Shader& shader)
    : device_(device), pipeline_(device.create_pipeline(compile(shader), shader.interface)) {}

std::vector<double> Probe::times(const DispatchStep& step, int samples) {
  CommandList list = device_.record(std::vector<Step>{step}, Timing::kPerStep);
  device_.run(list, kProbeTimeoutNs);
  std::vector<double> sample;
  for (int i = 0; i < samples; ++i)
    sample.push_back(std::max(1.0, device_.run(list, kProbeTimeoutNs).step_ns.front()));
  return sample;
}

std::uint32_t long_enough(const DeviceLimits& limits,
                          const std::function<double(std::uint32_t)>& timed, std::uint32_t trips) {
  const std::uint32_t most = limits.max_loop_trips > 0 ? limits.max_loop_trips : kMostTrips;
  while (trips < most && timed(trips) < kTargetNs) trips = std::min(4 * trips, most);
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
