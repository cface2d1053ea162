#include <algorithm>
#include <bit>

#include "core/statistics.h"
#include "tuner/calibrator.h"

namespace rooftile {

std::uint32_t Calibrator::window(int width, int unroll) const {
  return std::max<std::uint32_t>(
      1024 / static_cast<std::uint32_t>(width),
      std::bit_ceil(static_cast<std::uint32_t>(best_local_size_ * unroll)));
}

void Calibrator::shared_memory() {
  const int local_size = std::min(64, static_cast<int>(limits_.max_workgroup_invocations));
  const std::uint32_t groups = many_groups(local_size) / 8;
  const Buffer target = device_.create_buffer(262144 * sizeof(float), BufferUse::kDevice);
  Probe probe(device_, emit_shared(local_size));
  add("device.shared", "gbps",
      rate_of(
          probe, {{&target}}, groups,
          [](std::uint32_t trips) { return SharedPushConstants{trips}; },
          [&](double trips) { return 16.0 * kSharedUnroll * local_size * trips * groups; }));
}

void Calibrator::load_rate(const std::string& figure, LoadPath load_path, int width) {
  const std::uint32_t groups = many_groups(best_local_size_) / 8;
  const std::uint32_t words = window(width, kLoadsUnroll);
  const Buffer source = device_.create_buffer(
      std::uint64_t{words} * static_cast<std::uint64_t>(width) * sizeof(float), BufferUse::kDevice);
  const Buffer target = device_.create_buffer(262144 * sizeof(float), BufferUse::kDevice);
  Probe probe(device_, emit_loads(load_path, width, best_local_size_));
  add(figure, "loads/ns",
      rate_of(
          probe, {{&source}, {&target}}, groups,
          [&](std::uint32_t trips) {
            return LoadsPushConstants{trips, words};
          },
          [&](double trips) {
            return static_cast<double>(kLoadsUnroll) * best_local_size_ * trips * groups;
          }));
}

void Calibrator::loads() {
  load_rate("device.load.buffer.scalar", LoadPath::kBuffer, 1);
  load_rate("device.load.buffer.vector", LoadPath::kBuffer, 4);
  if (limits_.texel_buffer_r32) load_rate("device.load.texel.scalar", LoadPath::kTexel, 1);
  if (limits_.texel_buffer_rgba32) load_rate("device.load.texel.vector", LoadPath::kTexel, 4);
}

void Calibrator::stores() {
  for (const auto& [figure, width] :
       {std::pair("device.store.buffer.scalar", 1), std::pair("device.store.buffer.vector", 4)}) {
    // A window a workgroup: they must not write to one another's cache lines.
    const std::uint32_t groups = many_groups(best_local_size_) / 8;
    const std::uint32_t words = window(width, kStoresUnroll);
    const Buffer target = device_.create_buffer(
        std::uint64_t{words} * static_cast<std::uint64_t>(width) * groups * sizeof(float),
        BufferUse::kDevice);
    Probe probe(device_, emit_stores(width, best_local_size_));
    add(figure, "stores/ns",
        rate_of(
            probe, {{&target}}, groups,
            [&](std::uint32_t trips) {
              return StoresPushConstants{trips, words};
            },
            [&](double trips) {
              return static_cast<double>(kStoresUnroll) * best_local_size_ * trips * groups;
            }));
  }
}

void Calibrator::broadcasts() {
  const int local_size = static_cast<int>(limits_.subgroup_size);
  if (!limits_.subgroup_broadcast || local_size < kLanesUnroll) return;
  const std::uint32_t groups = many_groups(local_size) / 8;
  const Buffer target = device_.create_buffer(262144 * sizeof(float), BufferUse::kDevice);
  Probe probe(device_, emit_lanes(local_size));
  add("device.broadcast", "vectors/ns",
      rate_of(
          probe, {{&target}}, groups, [](std::uint32_t trips) { return LanesPushConstants{trips}; },
          [&](double trips) {
            return static_cast<double>(kLanesUnroll) * local_size * trips * groups;
          }));
}

// The slope over the number of loads: launching the one invocation does not count.
void Calibrator::load_latency() {
  constexpr std::uint32_t kWords = 1024;
  const Buffer source = device_.create_buffer(kWords * sizeof(float), BufferUse::kDevice);
  const Buffer target = device_.create_buffer(sizeof(float), BufferUse::kDevice);
  CommandList zero = device_.record(std::vector<Step>{ClearStep{{&source}}});
  device_.run(zero, kProbeTimeoutNs);
  Probe probe(device_, emit_chase());
  const auto times = [&](std::uint32_t trips, int samples) {
    return probe.times({{&source}, {&target}}, ChasePushConstants{trips, kWords}, 1, samples);
  };
  const std::uint32_t trips =
      long_enough(limits_, [&](std::uint32_t n) { return times(n, 1).front(); });
  const double launch_ns = median(times(0, kProbeSamples));
  std::vector<double> each;
  for (double ns : times(trips, kProbeSamples))
    each.push_back(std::max(0.0, (ns - launch_ns) / trips / kChaseUnroll));
  add("device.load.latency", "ns", each);
}

}  // namespace rooftile
