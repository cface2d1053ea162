#include "runtime/model/occupancy.h"

#include <algorithm>
#include <cmath>

#include "generator/rules.h"
#include "runtime/model/gpu/registers.h"
#include "runtime/model/k_slices.h"

namespace rooftile {
namespace {

// A load from memory or its cache. Of 100 to 800 clocks, 600 and 800 order the kernels best that
// were measured on an H100 and an H200, 2026-11-27: mean rank correlation over 74 problems .74,
// with 420 clocks .71, with 200 .66, without this term .51.
constexpr double kFetchClocks = 600;
// The second kernel starts when the first has stored everything. The median of what the other terms
// leave of the times of 35x1500x1760 and 252x252x2520 in 4 to 64 parts of k: 6.5 us.
constexpr double kDispatchClocks = 12000;
// Invocations that a unit holds on each of these generations; the latest hold twice as many.
constexpr double kHeldInvocations = 1024;
// Registers that NVIDIA's compiler takes for tiled kernels, over the estimate: 119 for 112, 139 for
// 128 with weights of 4 bits, 137 to 145 for 128 with two stages.
constexpr double kOverEstimate = 1.1;

bool is_known(const DeviceRates& rates) { return rates.gpu != nullptr && rates.fma_gflops > 0; }

double clock_ns(const DeviceRates& rates) {
  return 2 * rates.gpu->multiply_adds * rates.compute_units / rates.fma_gflops;
}

double registers_of(const Problem& p, const Variant& v, const GpuGeneration& gpu) {
  if (v.family != Family::kTiled) return needed_registers(v, p.types, gpu);
  // Values of a quantised B are unpacked before they are stored to the tile.
  const Types unpacked{.a = p.types.a, .c = p.types.c, .sums = p.types.sums};
  return kOverEstimate * needed_registers(v, unpacked, gpu);
}

double held_workgroups(const Problem& p, const Variant& v, const DeviceRates& rates) {
  const double registers = std::max(registers_of(p, v, *rates.gpu), 1.0);
  const double invocations = std::min(kHeldInvocations, rates.gpu->workgroup_registers / registers);
  const double shared = std::max<double>(static_cast<double>(shared_bytes(v, signature_of(p))), 1);
  return std::max(1.0, std::floor(std::min(invocations / static_cast<double>(local_size(v)),
                                           rates.gpu->unit_shared_bytes / shared)));
}

/// What one workgroup waits for loads, of which its own work of work_ns hides what is fetched
/// ahead.
double waits_ns(const Problem& p, const Variant& v, const DeviceRates& rates, double work_ns) {
  const double depth = k_slices(p, v).depth;
  if (v.family == Family::kNaive) return depth * rates.load_latency_ns;
  const double fetches = std::ceil(depth / elements_of_trip(v)) * kFetchClocks * clock_ns(rates);
  const bool ahead = v.stages > 1 || v.prefetch != Prefetch::kNone;
  return ahead ? std::max(0.0, fetches - work_ns) : fetches;
}

}  // namespace

UnitTimes unit_times(const Problem& p, const Variant& v, const DeviceRates& rates,
                     const Waves& waves, double busy_ns, double longest_ns) {
  if (waves.workgroups == 0 || busy_ns == 0) return {};
  const double busiest = busy_ns / waves.wave_efficiency;
  if (!is_known(rates)) return {.tail_ns = busiest - busy_ns};
  // A unit issues for so many invocations in a clock: fewer take as long. Each further set of them
  // works while the others wait, so that only the longest kind of work is not divided among them.
  // With matrix units twice the subgroups hide nothing: 4096x4096x4096 nn takes 1.75 times as long.
  const auto times = [&](double workgroups) {
    const double sets = workgroups * static_cast<double>(local_size(v)) / rates.gpu->instructions;
    if (sets < 1) return 1 / sets;
    return v.family == Family::kMatrix ? 1 : (longest_ns + (busy_ns - longest_ns) / sets) / busy_ns;
  };
  const double all = waves.waves, held = std::min(all, held_workgroups(p, v, rates));
  const double one = busiest / all * times(1);
  const double in_turn = all / held * (one + waits_ns(p, v, rates, one));
  const double at_once = busiest * times(held);
  return {.tail_ns = std::max(0.0, at_once - busy_ns),
          .wait_ns = std::max(0.0, in_turn - std::max(at_once, busy_ns)),
          .hidden_ns = std::max(0.0, busy_ns - std::max(at_once, in_turn))};
}

double dependent_dispatch_ns(const DeviceRates& rates, double loads) {
  return is_known(rates) ? (kDispatchClocks + loads * kFetchClocks) * clock_ns(rates) : 0;
}

}  // namespace rooftile
