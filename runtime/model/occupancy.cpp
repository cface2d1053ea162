#include "runtime/model/occupancy.h"

#include <algorithm>
#include <cmath>

#include "runtime/model/gpu/registers.h"
#include "runtime/model/k_slices.h"

namespace rooftile {
namespace {

// H200, 2026-11-27. 512x512x512 with a workgroup of 64x64x16 on half of the units takes 34.7 us
// and, where the next tile is fetched ahead, 27.5: 225 ns for each of 32 tiles, at 1.86 GHz.
constexpr double kFetchClocks = 420;
// Split-K in four parts takes 4 us more than its multiplications: the second kernel starts when all
// of the first is written.
constexpr double kDispatchClocks = 7500;
// Invocations that a unit holds on each of these generations; the latest hold twice as many.
constexpr double kHeldInvocations = 1024;

bool is_known(const DeviceRates& rates) { return rates.gpu != nullptr && rates.fma_gflops > 0; }

double clock_ns(const DeviceRates& rates) {
  return 2 * rates.gpu->multiply_adds * rates.compute_units / rates.fma_gflops;
}

double held_workgroups(const Problem& p, const Variant& v, const DeviceRates& rates) {
  const double registers = std::max(needed_registers(v, p.types, *rates.gpu), 1.0);
  const double most = std::min(kHeldInvocations, rates.gpu->workgroup_registers / registers);
  return std::max(1.0, std::floor(most / static_cast<double>(local_size(v))));
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

Unfilled unfilled(const Problem& p, const Variant& v, const DeviceRates& rates, const Waves& waves,
                  double busy_ns) {
  if (waves.workgroups == 0) return {};
  const double busiest = busy_ns / waves.wave_efficiency;
  if (!is_known(rates)) return {.tail_ns = busiest - busy_ns};
  // A unit issues for so many invocations in a clock: fewer take as long.
  const auto stretched = [&](double workgroups) {
    return std::max(1.0,
                    rates.gpu->instructions / (workgroups * static_cast<double>(local_size(v))));
  };
  const double all = waves.waves, held = std::min(all, held_workgroups(p, v, rates));
  const double one = busiest / all * stretched(1);
  const double full = busiest * stretched(held);
  const double in_turn = all / held * (one + waits_ns(p, v, rates, one));
  return {.tail_ns = full - busy_ns, .wait_ns = std::max(0.0, in_turn - full)};
}

double dependent_dispatch_ns(const DeviceRates& rates) {
  return is_known(rates) ? kDispatchClocks * clock_ns(rates) : 0;
}

}  // namespace rooftile
