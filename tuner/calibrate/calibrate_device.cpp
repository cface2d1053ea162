#include <algorithm>
#include <array>
#include <cmath>

#include "core/clock.h"
#include "core/numbers/statistics.h"
#include "tuner/calibrate/calibrate.h"
#include "tuner/calibrate/calibrator.h"

namespace rooftile {
namespace {

constexpr double kCurveShare = 0.6;  // Share of the time; what precedes the rounds ends there.

/// Returns the wall time of a list from submission to fence: the median of three.
double wall_ns(Device& device, CommandList& list) {
  std::array<double, 3> sample;
  for (double& ns : sample) {
    const double start = now_ns();
    device.run(list, kProbeTimeoutNs);
    ns = now_ns() - start;
  }
  return median(sample);
}

/// Uses twice the standard error of the median, for normal samples.
bool surely_positive(const Figure& figure) {
  return figure.value > 2 * kNormalDeviation * kMedianError * figure.mad / std::sqrt(figure.count);
}

}  // namespace

Calibrator::Calibrator(FullClocks& clocks, double seconds)
    : shared_device_(clocks.device()),
      device_(*shared_device_),
      clocks_(clocks),
      limits_(device_.profile().limits),
      end_s_(begin_s_ + seconds) {}

Calibrated Calibrator::run() {
  clocks_.raise();
  multiply_adds();
  compute_units();
  other_multiply_adds();
  latencies();
  workgroups_and_barriers();
  shared_memory();
  loads();
  stores();
  broadcasts();
  load_latency();
  transfers();
  fetch();
  imports();
  overlap();
  end_part("device kernels");
  stream(begin_s_ + kCurveShare * (end_s_ - begin_s_));
  end_part("device memory levels");
  clocks_.raise();
  for (Figure& figure : sample_in_rounds(sampled_, end_s_))
    if (figure.unit != kDifference || surely_positive(figure))
      figures_.push_back(std::move(figure));
  level_bandwidths();
  end_part("device rounds");
  return {.figures = std::move(figures_), .parts = std::move(parts_)};
}

void Calibrator::end_part(const char* name) {
  const double now = now_s();
  parts_.push_back({name, now - part_s_});
  part_s_ = now;
}

const Figure* Calibrator::found(const std::string& name) const {
  const auto at = std::ranges::find(figures_, name, &Figure::name);
  return at == figures_.end() ? nullptr : &*at;
}

void Calibrator::latencies() {
  const DispatchStep step = {
      .pipeline = &probe(emit_barriers(static_cast<int>(limits_.subgroup_size))).pipeline(),
      .bindings = {{&buffer(4096)}},
      .push_constants = bytes_of_block(BarriersPushConstants{0}),
      .groups = {1, 1, 1}};
  constexpr std::size_t kChain = 33;
  const auto list = [&](std::size_t dispatches) -> CommandList& {
    return lists_.emplace_back(device_.record(std::vector<Step>(dispatches, step)));
  };
  CommandList& one = list(1);
  CommandList& chain = list(kChain);
  sample("device.submit", "ns", [this, &one] { return Turn{wall_ns(device_, one)}; });
  sample("device.dispatch", "ns", [this, &one, &chain] {
    const double more_ns = wall_ns(device_, chain) - wall_ns(device_, one);
    return Turn{std::max(0.0, more_ns / static_cast<double>(kChain - 1))};
  });
}

// Slopes over workgroups and over barriers. A workgroup with barriers costs more to start.
// Multiply-adds on sums that live across barriers may be slower, because these sums are no longer
// in registers where invocations take turns, as on processors.
void Calibrator::workgroups_and_barriers() {
  constexpr int kChains = 8;  // Sums of 32 values, as in a kernel that stages tiles.
  const int local_size =
      static_cast<int>(std::min(limits_.subgroup_size * 2, limits_.max_workgroup_invocations));
  const std::uint32_t groups = 4096;
  const double invocations = static_cast<double>(groups) * local_size;
  const std::vector<BufferRange> target = {
      {&buffer(static_cast<std::uint64_t>(invocations) * sizeof(float))}};
  const auto fma_push = [](std::uint32_t trips) { return FmaPushConstants{trips, 0.5f, 1.0f}; };
  const auto barriers_push = [](std::uint32_t trips) { return BarriersPushConstants{trips}; };

  TimedDispatch& empty =
      dispatch(probe(emit_fma(DataType::kF32, local_size, 1)), target, fma_push(0), groups);
  sample("device.workgroup", "ns", [&empty] {
    const Reading reading = empty.take();
    return Turn{reading.kernel_ns / groups, reading.busy_share};
  });

  Probe& barriers = probe(emit_barriers(local_size));
  const std::uint32_t trips = trips_of(barriers, target, groups, barriers_push);
  TimedDispatch& none = dispatch(barriers, target, barriers_push(0), groups);
  TimedDispatch& many = dispatch(barriers, target, barriers_push(trips), groups);
  const auto barrier_ns = [&none, &many, each = trips * invocations] {
    const Reading launch = none.take(), whole = many.take();
    return Turn{std::max(0.0, (whole.kernel_ns - launch.kernel_ns) / each),
                std::max(launch.busy_share, whole.busy_share)};
  };
  sample("device.workgroup.synchronised", "ns", [&none] {
    const Reading reading = none.take();
    return Turn{reading.kernel_ns / groups, reading.busy_share};
  });
  sample("device.barrier", "ns", barrier_ns);

  // The device runs a loop of no iterations for none of them, or for one extra masked iteration.
  Probe& loop = probe(emit_fma(DataType::kF32, local_size, kChains));
  const std::uint32_t loop_trips = trips_of(loop, target, groups, fma_push);
  TimedDispatch& no_trip = dispatch(loop, target, fma_push(0), groups);
  TimedDispatch& all_trips = dispatch(loop, target, fma_push(loop_trips), groups);
  sample("device.loop.overrun", "trips", [&empty, &no_trip, &all_trips, loop_trips] {
    const Reading launch = empty.take(), overrun = no_trip.take(), whole = all_trips.take();
    const double trip_ns = std::max(1.0, whole.kernel_ns - overrun.kernel_ns) / loop_trips;
    return Turn{overrun.kernel_ns - launch.kernel_ns > 0.5 * trip_ns ? 1.0 : 0.0,
                std::max({launch.busy_share, overrun.busy_share, whole.busy_share})};
  });

  // The barriers' own time is subtracted; at least half of the total counts, however long they
  // took.
  Probe& sums = probe(emit_fma(DataType::kF32, local_size, kChains, Trip::kSynchronised));
  const std::uint32_t sum_trips = trips_of(sums, target, groups, fma_push);
  TimedDispatch& timed = dispatch(sums, target, fma_push(sum_trips), groups);
  sample("device.fma.synchronised", "gflops",
         [&timed, barrier_ns, waits = sum_trips * invocations,
          flops = 8.0 * kChains * kFmaSteps * sum_trips * invocations] {
           const Turn barrier = barrier_ns();
           const Reading reading = timed.take();
           const double ns =
               std::max(reading.kernel_ns - waits * barrier.value, 0.5 * reading.kernel_ns);
           return Turn{flops / ns, std::max(barrier.busy_share, reading.busy_share)};
         });
}

Calibrated calibrate_device(FullClocks& clocks, double seconds) {
  return Calibrator(clocks, seconds).run();
}

}  // namespace rooftile
