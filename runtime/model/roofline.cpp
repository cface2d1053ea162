#include "runtime/model/roofline.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace rooftile {
namespace {

struct Sizes {
  double m, n, k, batch, bytes_a, bytes_b;
};

Sizes sizes_of(const Problem& p) {
  return {static_cast<double>(p.m),
          static_cast<double>(p.n),
          static_cast<double>(p.k),
          static_cast<double>(p.batch),
          static_cast<double>(bytes_of(p.types.a)),
          static_cast<double>(bits_of_b(p.types)) / 8};
}

double blocks(double size, int block) { return std::ceil(size / block); }

/// Bytes of C in one pass of a kernel: written, and read before when beta asks for it.
double c_bytes(const Problem& p, const Sizes& s) {
  return (p.beta == 0.0f ? 1 : 2) * s.m * s.n * s.batch * static_cast<double>(bytes_of(p.types.c));
}

/// A is read once for each column of blocks, B once for each row of blocks.
double blocked_bytes(const Problem& p, const Sizes& s, int block_m, int block_n) {
  return (s.m * s.k * blocks(s.n, block_n) * s.bytes_a +
          s.k * s.n * blocks(s.m, block_m) * s.bytes_b) *
             s.batch +
         c_bytes(p, s);
}

double over(double amount, double rate) { return rate > 0 ? amount / rate : 0; }

/// Time of the unit that has most to do: whole workgroups do not split. Counts only full blocks (or
/// the largest partial one), so that kernels that skip what lies outside C stay above it.
double busiest_unit_ns(const Problem& p, const Variant& v, const DeviceRates& rates) {
  const Sizes s = sizes_of(p);
  const double full = std::floor(s.m / v.tile_m) * std::floor(s.n / v.tile_n) * s.batch;
  const double largest =
      2 * std::min<double>(s.m, v.tile_m) * std::min<double>(s.n, v.tile_n) * s.k;
  const double rounds = std::ceil(std::max(full, 1.0) / rates.compute_units);
  return over(rounds * largest * rates.compute_units, math_gflops(rates, p.types, v));
}

const char* level_name(const DeviceRates& rates, double bytes) {
  const bool in_cache = !rates.levels.empty() && bytes <= rates.levels.front().footprint_bytes &&
                        rates.levels.size() > 1;
  return in_cache ? "memory:cache" : "memory:memory";
}

void add(std::vector<Bound>& bounds, std::string limiter, double ns) {
  const auto same = std::ranges::find(bounds, limiter, &Bound::limiter);
  if (same == bounds.end())
    bounds.push_back({std::move(limiter), ns});
  else
    same->ns = std::max(same->ns, ns);
}

/// Idle units are the limiter when they cost more than the arithmetic itself.
void add_math(std::vector<Bound>& bounds, const Problem& p, const Variant& v,
              const DeviceRates& rates) {
  const double math = over(flops(p), math_gflops(rates, p.types, v));
  const double busiest = std::max(math, busiest_unit_ns(p, v, rates));
  if (busiest > 2 * math) {
    bounds.push_back({"tail", busiest});
    bounds.push_back({"math", math});
  } else {
    bounds.push_back({"math", busiest});
  }
}

double cache_gbps(const DeviceRates& rates) {
  return rates.levels.empty() ? 0 : rates.levels.front().gbps;
}

}  // namespace

double arithmetic_intensity(const Problem& p) { return over(flops(p), minimum_bytes(p)); }

double gemm_intensity(double m, double n, double k, double bytes_per_element) {
  return 2 * m * n * k / ((m * k + k * n + m * n) * bytes_per_element);
}

double ridge_intensity(double peak_gflops, double gbps) { return peak_gflops / gbps; }

double breakeven_flops(double submit_ns, double device_gflops) { return submit_ns * device_gflops; }

double breakeven_elements(double overhead_ns, double host_gbps, double device_gbps,
                          double bytes_per_element) {
  if (device_gbps <= host_gbps) return std::numeric_limits<double>::infinity();
  return overhead_ns / (bytes_per_element / host_gbps - bytes_per_element / device_gbps);
}

Operation elementwise(double elements, double flops_per_element, double arrays_read,
                      double arrays_written, double bytes_per_element) {
  return {.flops = elements * flops_per_element,
          .bytes = elements * (arrays_read + arrays_written) * bytes_per_element};
}

double attainable_gflops(double intensity, double peak_gflops, double gbps) {
  return std::min(peak_gflops, intensity * gbps);
}

Traffic traffic(const Problem& p, const Variant& v) {
  const Sizes s = sizes_of(p);
  return {.memory_bytes = minimum_bytes(p),
          .cache_bytes = blocked_bytes(p, s, v.tile_m, v.tile_n),
          .register_bytes = v.family == Family::kMatrix
                                ? blocked_bytes(p, s, v.subgroup_m, v.subgroup_n)
                                : blocked_bytes(p, s, v.reg_m, v.reg_n)};
}

Waves waves(const Problem& p, const Variant& v, double concurrent_workgroups) {
  const Sizes s = sizes_of(p);
  const double rows = blocks(s.m, v.tile_m), columns = blocks(s.n, v.tile_n);
  const double workgroups = rows * columns * s.batch;
  if (workgroups == 0)
    return {.workgroups = 0, .waves = 0, .wave_efficiency = 1, .tile_efficiency = 1};
  const double concurrent = std::max(concurrent_workgroups, 1.0);
  const double count = std::ceil(workgroups / concurrent);
  return {.workgroups = workgroups,
          .waves = count,
          .wave_efficiency = workgroups / (count * concurrent),
          .tile_efficiency = s.m * s.n / (rows * v.tile_m * columns * v.tile_n)};
}

Roofline roofline(const Problem& p, const Variant& v, const DeviceRates& rates) {
  Roofline r{.traffic = traffic(p, v), .waves = waves(p, v, rates.compute_units)};
  add_math(r.bounds, p, v, rates);
  const double footprint = r.traffic.memory_bytes;
  add(r.bounds, level_name(rates, footprint),
      over(footprint, gbps_for_footprint(rates, footprint)));
  if (rates.levels.size() > 1)
    add(r.bounds, "memory:cache", over(r.traffic.cache_bytes, cache_gbps(rates)));
  if (v.family == Family::kTiled)  // fragments of matrix units have a reuse of their own
    add(r.bounds, "memory:shared", over(r.traffic.register_bytes, rates.shared_gbps));
  add(r.bounds, "latency", rates.dispatch_ns);
  std::ranges::stable_sort(r.bounds, std::greater{}, &Bound::ns);
  return r;
}

Headroom headroom(const Roofline& roofline, double measured_ns) {
  const double largest = roofline.ns();
  const double next = roofline.bounds.size() > 1 ? roofline.bounds[1].ns : largest;
  return {.over_bound = largest > 0 ? measured_ns / largest : 1,
          .if_lifted = next > 0 ? largest / next : 1};
}

double problem_bound_ns(const Problem& p, const DeviceRates& rates) {
  const double bytes = minimum_bytes(p);
  return std::max(over(flops(p), peak_gflops(rates, p.types)),
                  over(bytes, gbps_for_footprint(rates, bytes)));
}

}  // namespace rooftile
