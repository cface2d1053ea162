#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <limits>

#include "tuner/calibrate/calibrator.h"

namespace rooftile {

std::uint32_t Calibrator::window(int width, int unroll) const {
  return std::max<std::uint32_t>(
      1024 / static_cast<std::uint32_t>(width),
      std::bit_ceil(static_cast<std::uint32_t>(best_local_size_ * unroll)));
}

void Calibrator::shared_memory() {
  const int local_size = std::min(64, static_cast<int>(limits_.max_workgroup_invocations));
  const std::uint32_t groups = many_groups(local_size) / 8;
  sample_rate(
      "device.shared", "gbps", probe(emit_shared(local_size)), {{&buffer(262144 * sizeof(float))}},
      groups, [](std::uint32_t trips) { return SharedPushConstants{trips}; },
      [&](double trips) { return 16.0 * kSharedUnroll * local_size * trips * groups; });
}

void Calibrator::load_rate(const std::string& figure, LoadPath load_path, int width) {
  const std::uint32_t groups = many_groups(best_local_size_) / 8;
  const std::uint32_t words = window(width, kLoadsUnroll);
  const Buffer& source =
      buffer(std::uint64_t{words} * static_cast<std::uint64_t>(width) * sizeof(float));
  sample_rate(
      figure, "loads/ns", probe(emit_loads(load_path, width, best_local_size_)),
      {{&source}, {&buffer(262144 * sizeof(float))}}, groups,
      [&](std::uint32_t trips) {
        return LoadsPushConstants{trips, words};
      },
      [&](double trips) {
        return static_cast<double>(kLoadsUnroll) * best_local_size_ * trips * groups;
      });
}

void Calibrator::loads() {
  load_rate("device.load.buffer.scalar", LoadPath::kBuffer, 1);
  load_rate("device.load.buffer.vector", LoadPath::kBuffer, 4);
  if (limits_.texel_buffer_r32) load_rate("device.load.texel.scalar", LoadPath::kTexel, 1);
  if (limits_.texel_buffer_rgba32) load_rate("device.load.texel.vector", LoadPath::kTexel, 4);
}

// Plain stores, and stores of C as in kernels. Each workgroup has a window of its own, so that no
// two write to the same cache line.
void Calibrator::stores() {
  const std::uint32_t groups = many_groups(best_local_size_) / 8;
  for (const auto& [name, width] : {std::pair("scalar", 1), std::pair("vector", 4)}) {
    const std::uint32_t words = window(width, kStoresUnroll);
    const std::uint32_t elements = words * static_cast<std::uint32_t>(width);
    const std::vector<BufferRange> target = {
        {&buffer(std::uint64_t{elements} * groups * sizeof(float))}};
    const auto amount = [&](double trips) {
      return static_cast<double>(kStoresUnroll) * best_local_size_ * trips * groups;
    };
    sample_rate(
        fmt::format("device.store.buffer.{}", name), "stores/ns",
        probe(emit_stores(width, best_local_size_)), target, groups,
        [&](std::uint32_t trips) {
          return StoresPushConstants{trips, words};
        },
        amount);
    sample_rate(
        fmt::format("device.store.c.{}", name), "stores/ns",
        probe(emit_c_stores(width, best_local_size_)), target, groups,
        [&](std::uint32_t trips) {
          return CStoresPushConstants{trips, words, elements, elements, 1.0f, 0.0f};
        },
        amount);
  }
}

void Calibrator::broadcasts() {
  const int local_size = static_cast<int>(limits_.subgroup_size);
  if (!limits_.subgroup_broadcast || local_size < kLanesUnroll) return;
  const std::uint32_t groups = many_groups(local_size) / 8;
  sample_rate(
      "device.broadcast", "vectors/ns", probe(emit_lanes(local_size)),
      {{&buffer(262144 * sizeof(float))}}, groups,
      [](std::uint32_t trips) { return LanesPushConstants{trips}; },
      [&](double trips) {
        return static_cast<double>(kLanesUnroll) * local_size * trips * groups;
      });
}

// Slope over the number of loads, which excludes the launch of the single invocation. Disturbances
// make launches longer, so the shortest one counts, of several in each turn: a launch takes
// microseconds, and with a disturbed one alone no latency would be left.
void Calibrator::load_latency() {
  constexpr std::uint32_t kWords = 1024;
  constexpr int kLaunchesOfTurn = 5;
  const Buffer& source = buffer(kWords * sizeof(float));
  const std::vector<BufferRange> bindings = {{&source}, {&buffer(sizeof(float))}};
  CommandList zero = device_.record(std::vector<Step>{ClearStep{{&source}}});
  device_.run(zero, kProbeTimeoutNs);
  Probe& chase = probe(emit_chase());
  const auto push = [](std::uint32_t trips) { return ChasePushConstants{trips, kWords}; };
  const std::uint32_t trips = trips_of(chase, bindings, 1, push);
  TimedDispatch& none = dispatch(chase, bindings, push(0), 1);
  TimedDispatch& many = dispatch(chase, bindings, push(trips), 1);
  sample("device.load.latency", "ns",
         [&none, &many, loads = 1.0 * trips * kChaseUnroll,
          launch_ns = std::numeric_limits<double>::infinity()]() mutable {
           for (int launch = 0; launch < kLaunchesOfTurn; ++launch)
             launch_ns = std::min(launch_ns, none.take().kernel_ns);
           const Reading whole = many.take();
           return Turn{std::max(0.0, (whole.kernel_ns - launch_ns) / loads), whole.busy_share};
         });
}

}  // namespace rooftile
