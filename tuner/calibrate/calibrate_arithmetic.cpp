#include <algorithm>
#include <cmath>
#include <thread>

#include "core/numbers/statistics.h"
#include "runtime/model/fit/staircase.h"
#include "tuner/calibrate/calibrator.h"

namespace rooftile {
namespace {

std::vector<int> local_sizes(const DeviceLimits& limits) {
  std::vector<int> sizes;
  for (int size : {static_cast<int>(limits.subgroup_size), 64, 256})
    if (size <= static_cast<int>(limits.max_workgroup_invocations) &&
        std::find(sizes.begin(), sizes.end(), size) == sizes.end())
      sizes.push_back(size);
  return sizes;
}

FmaPushConstants fma_push(std::uint32_t trips, float multiplier = 0.5f) {
  return {trips, multiplier, 1.0f};
}

}  // namespace

// Finds the best of several shapes of the kernel, then samples that shape in the rounds.
void Calibrator::multiply_adds() {
  constexpr int kFewSamples = 3;
  const std::vector<BufferRange> target = {{&buffer(262144 * sizeof(float))}};
  const auto push = [](std::uint32_t trips) { return fma_push(trips); };
  double best = 0;
  for (int local_size : local_sizes(limits_)) {
    for (int chains : {2, 3, 8}) {
      Probe shape(device_, emit_fma(DataType::kF32, local_size, chains));
      const std::uint32_t groups = many_groups(local_size) / 8;
      const std::uint32_t trips = trips_of(shape, target, groups, push);
      const double rate = 1.0 * chains * local_size * groups * trips /
                          std::ranges::min(shape.times(target, push(trips), groups, kFewSamples));
      if (rate <= best) continue;
      best = rate;
      best_local_size_ = local_size;
      best_chains_ = chains;
    }
  }
  const std::uint32_t groups = many_groups(best_local_size_) / 8;
  sample_rate("device.fma.f32", "gflops",
              probe(emit_fma(DataType::kF32, best_local_size_, best_chains_)), target, groups, push,
              [&](double trips) {
                return 8.0 * best_chains_ * kFmaSteps * best_local_size_ * trips * groups;
              });
}

// Rates of float16, float64 and of packed dot products, with the workgroups and chains that are
// best for float32.
void Calibrator::other_multiply_adds() {
  const std::vector<BufferRange> target = {{&buffer(262144 * sizeof(float))}};
  const auto measure = [&](const char* figure, DataType type, float multiplier,
                           double flops_per_step) {
    const std::uint32_t groups = many_groups(best_local_size_) / 8;
    sample_rate(
        figure, "gflops", probe(emit_fma(type, best_local_size_, best_chains_)), target, groups,
        [&](std::uint32_t trips) { return fma_push(trips, multiplier); },
        [&](double trips) {
          return flops_per_step * best_chains_ * kFmaSteps * best_local_size_ * trips * groups;
        });
  };
  if (limits_.float16_arithmetic) measure("device.fma.f16", DataType::kF16, 0.5f, 8);
  if (limits_.float64_arithmetic) measure("device.fma.f64", DataType::kF64, 0.5f, 8);
  if (limits_.integer_dot_product) measure("device.dot.i8", DataType::kI32, 3.0f, 32);
}

// Number of compute units, from the driver or else from the steps in time as the number of
// workgroups grows. A workgroup has the largest size that is good for the multiply-adds, so that
// one keeps a unit busy.
void Calibrator::compute_units() {
  if (limits_.compute_units > 0) {
    add("device.compute_units", "count", {static_cast<double>(limits_.compute_units)});
    return;
  }
  constexpr std::size_t kMostWorkgroups = 2048;
  constexpr int kFewSamples = 5;
  const int local_size = local_sizes(limits_).back();
  const Buffer target = device_.create_buffer(
      kMostWorkgroups * static_cast<std::uint64_t>(local_size) * sizeof(float), BufferUse::kDevice);
  Probe shape(device_, emit_fma(DataType::kF32, local_size, best_chains_));
  const auto times = [&](std::uint32_t trips, std::size_t groups, int samples) {
    return shape.times({{&target}}, fma_push(trips), static_cast<std::uint32_t>(groups), samples);
  };
  const std::uint32_t trips =
      long_enough(limits_, [&](std::uint32_t n) { return times(n, 1, 1).front(); });
  // The shortest of several times, because other work on a unit only makes a run longer.
  const std::vector<Stair> stairs =
      climb([&](std::size_t groups) { return std::ranges::min(times(trips, groups, kFewSamples)); },
            kMostWorkgroups);
  std::size_t found = units_of_staircase(stairs);
  // The units of a software device are this process's processors.
  if (device_.profile().kind == DeviceKind::kSoftware)
    found = std::min<std::size_t>(found, std::max(1u, std::thread::hardware_concurrency()));
  const auto units = static_cast<double>(found);
  // The spread is the deviation of the measured steps from those of this number of units, in units.
  std::vector<double> implied;
  for (const Stair& stair : stairs) {
    const double waves = std::ceil(static_cast<double>(stair.workgroups) / units);
    implied.push_back(units * waves * stairs.front().ns / stair.ns);
  }
  Figure figure = figure_of("device.compute_units", "count", implied);
  figure.value = units;
  figures_.push_back(std::move(figure));
}

}  // namespace rooftile
