#include <algorithm>

#include "core/clock.h"
#include "core/statistics.h"
#include "tuner/calibrate.h"
#include "tuner/calibrator.h"

namespace rooftile {

void Calibrator::latencies() {
  const Buffer target = device_.create_buffer(4096, BufferUse::kDevice);
  Probe probe(device_, emit_barriers(static_cast<int>(limits_.subgroup_size)));
  const DispatchStep dispatch = {.pipeline = &probe.pipeline(),
                                 .bindings = {{&target}},
                                 .push_constants = bytes_of_block(BarriersPushConstants{0}),
                                 .groups = {1, 1, 1}};
  const auto wall = [&](std::size_t dispatches) {
    CommandList list = device_.record(std::vector<Step>(dispatches, dispatch));
    device_.run(list, kProbeTimeoutNs);
    std::vector<double> sample;
    for (int i = 0; i < 3 * kProbeSamples; ++i) {
      const double start = now_ns();
      device_.run(list, kProbeTimeoutNs);
      sample.push_back(now_ns() - start);
    }
    return sample;
  };
  constexpr std::size_t kChain = 33;
  const std::vector<double> one = wall(1), chain = wall(kChain);
  add("device.submit", "ns", one);
  std::vector<double> each;
  for (double ns : chain)
    each.push_back(std::max(0.0, (ns - median(one)) / static_cast<double>(kChain - 1)));
  add("device.dispatch", "ns", each);
}

void Calibrator::workgroups_and_barriers() {
  const int local_size = static_cast<int>(limits_.subgroup_size) * 2;
  if (local_size > static_cast<int>(limits_.max_workgroup_invocations)) return;
  const std::uint32_t groups = 4096;
  const double invocations = static_cast<double>(groups) * local_size;
  const Buffer target = device_.create_buffer(
      static_cast<std::uint64_t>(invocations) * sizeof(float), BufferUse::kDevice);
  Probe probe(device_, emit_barriers(local_size));
  const std::vector<double> none = probe.times({{&target}}, BarriersPushConstants{0}, groups);
  std::vector<double> each_group;
  for (double ns : none) each_group.push_back(ns / groups);
  add("device.workgroup", "ns", each_group);
  const auto timed = [&](std::uint32_t trips) {
    return probe.times({{&target}}, BarriersPushConstants{trips}, groups, 1).front();
  };
  const std::uint32_t trips = long_enough(limits_, timed);
  std::vector<double> each;
  for (double ns : probe.times({{&target}}, BarriersPushConstants{trips}, groups))
    each.push_back(std::max(0.0, (ns - median(none)) / trips / invocations));
  add("device.barrier", "ns", each);
}

std::vector<Figure> calibrate_device(const std::shared_ptr<Device>& device) {
  return Calibrator(*device).run();
}

}  // namespace rooftile
