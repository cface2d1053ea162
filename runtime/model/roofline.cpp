#include "runtime/model/roofline.h"

#include <algorithm>
#include <cmath>

#include "core/round.h"
#include "runtime/model/k_slices.h"

namespace rooftile {
namespace {

struct Sizes {
  double m, n, k, batch, bytes_a, bytes_b;
};

/// A grouped problem counts as a batch of groups of mean size.
Sizes sizes_of(const Problem& p) {
  const std::int64_t matrices = is_grouped(p) ? filled_groups(p) : p.batch;
  return {static_cast<double>(is_grouped(p) ? divide_up(p.m, matrices) : p.m),
          static_cast<double>(p.n),
          static_cast<double>(p.k),
          static_cast<double>(matrices),
          static_cast<double>(bytes_of(p.types.a)),
          bytes_per_element_b(p.types)};
}

double blocks(double size, int block) { return std::ceil(size / block); }

/// Bytes of C in one pass of a kernel: written, and first read where beta requires it.
double c_bytes(const Problem& p, const Sizes& s) {
  return (p.beta == 0.0f ? 1 : 2) * s.m * s.n * s.batch * static_cast<double>(bytes_of(p.types.c));
}

Problem one_pass(Problem p) {
  p.beta = 0;
  return p;
}

/// A is read once for each column of blocks, B once for each row of blocks.
double blocked_bytes(const Problem& p, const Sizes& s, int block_m, int block_n) {
  return (s.m * s.k * blocks(s.n, block_n) * s.bytes_a +
          s.k * s.n * blocks(s.m, block_m) * s.bytes_b) *
             s.batch +
         c_bytes(p, s);
}

double over(double amount, double rate) { return rate > 0 ? amount / rate : 0; }

/// Bytes of partial sums of split-K, written and read again.
double part_bytes(const Problem& p, const Variant& v, const Sizes& s) {
  const KSlices k = k_slices(p, v);
  if (!is_reduced(k, v)) return 0;
  constexpr double kBothWays = 2;
  return kBothWays * static_cast<double>(stored_parts(v, p.k)) * s.m * s.n * s.batch *
         static_cast<double>(element_bytes(p.types));
}

/// Time of the busiest unit, because whole workgroups do not split. Counts only full blocks (or the
/// largest partial one), so that it stays a lower bound for kernels that skip what lies outside C.
double busiest_unit_ns(const Problem& p, const Variant& v, const DeviceRates& rates) {
  const Sizes s = sizes_of(p);
  const KSlices k = k_slices(p, v);
  const double full = std::floor(s.m / v.tile_m) * std::floor(s.n / v.tile_n) *
                      std::floor(s.batch / v.tile_batch) *
                      (k.depth > 0 ? std::floor(s.k / k.depth) : 0);
  const double largest = 2 * std::min<double>(s.m, v.tile_m) * std::min<double>(s.n, v.tile_n) *
                         std::min<double>(s.batch, v.tile_batch) * k.depth;
  const double rounds = std::ceil(std::max(full, 1.0) / rates.compute_units);
  return over(rounds * largest * rates.compute_units, math_gflops(rates, p.types, v));
}

/// Latency of the launch and, where a unit has too few workgroups to hide them, of dependent loads:
/// a tile is fetched when the last one has been used, unless it is fetched ahead.
double latency_ns(const Problem& p, const Variant& v, const Waves& w, const DeviceRates& rates) {
  constexpr double kEnoughToHide = 4;  // Workgroups per unit, from NVIDIA's performance background.
  double loads = 1;
  if (uses_shared_memory(v) && v.stages == 1 && v.prefetch == Prefetch::kNone &&
      v.family != Family::kVector)
    loads = std::ceil(k_slices(p, v).depth / elements_of_trip(v));
  const bool hidden = w.workgroups >= kEnoughToHide * rates.compute_units || p.k == 0;
  return rates.dispatch_ns + (hidden ? 0 : w.waves * loads * rates.load_latency_ns);
}

void add(std::vector<Bound>& bounds, std::string limiter, double ns) {
  const auto same = std::ranges::find(bounds, limiter, &Bound::limiter);
  if (same == bounds.end())
    bounds.push_back({std::move(limiter), ns});
  else
    same->ns = std::max(same->ns, ns);
}

/// Idle units limit the kernel where they cost more than the arithmetic itself.
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

LevelUse use_of(std::string name, double bytes, double gbps, double flops) {
  return {.name = std::move(name),
          .bytes = bytes,
          .intensity = over(flops, bytes),
          .gbps = gbps,
          .bound_ns = over(bytes, gbps)};
}

/// Bytes that a call on host pointers uploads and downloads.
LevelUse host_link(const Problem& p, const DeviceRates& rates) {
  const double down = c_bytes(one_pass(p), sizes_of(p)), up = minimum_bytes(p) - down;
  const double ns = over(up, rates.upload_gbps) + over(down, rates.download_gbps);
  LevelUse use = use_of("host", up + down, over(up + down, ns), flops(p));
  use.bound_ns = ns;
  return use;
}

std::vector<LevelUse> level_uses(const Problem& p, const Variant& v, const Traffic& traffic,
                                 const DeviceRates& rates) {
  std::vector<LevelUse> uses;
  if (v.family == Family::kTiled && rates.shared_gbps > 0)
    uses.push_back(use_of("shared", traffic.register_bytes, rates.shared_gbps, flops(p)));
  for (std::size_t i = 0; i < rates.levels.size(); ++i) {
    // Between a cache and the workgroups all reads of blocks count; below it, only the reads that
    // caches cannot save.
    const bool nearest = i == 0 && rates.levels.size() > 1;
    uses.push_back(use_of(rates.levels[i].name,
                          nearest ? traffic.cache_bytes : traffic.memory_bytes,
                          rates.levels[i].gbps, flops(p)));
  }
  if (rates.upload_gbps > 0 && rates.download_gbps > 0) uses.push_back(host_link(p, rates));
  return uses;
}

}  // namespace

std::string holding_level(const DeviceRates& rates, double bytes) {
  for (std::size_t i = 0; i + 1 < rates.levels.size(); ++i)
    if (bytes <= rates.levels[i].footprint_bytes) return "memory:" + rates.levels[i].name;
  return "memory:memory";
}

double arithmetic_intensity(const Problem& p) { return over(flops(p), minimum_bytes(p)); }

double ridge_intensity(double peak_gflops, double gbps) { return peak_gflops / gbps; }

double breakeven_flops(double submit_ns, double device_gflops) { return submit_ns * device_gflops; }

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
          .cache_bytes = blocked_bytes(p, s, v.tile_m, v.tile_n) + part_bytes(p, v, s),
          .register_bytes = v.family == Family::kMatrix
                                ? blocked_bytes(p, s, v.subgroup_m, v.subgroup_n)
                                : blocked_bytes(p, s, v.reg_m, v.reg_n)};
}

Waves waves(const Problem& p, const Variant& v, double concurrent_workgroups) {
  const Sizes s = sizes_of(p);
  const double rows = blocks(s.m, v.tile_m), columns = blocks(s.n, v.tile_n);
  const double workgroups =
      rows * columns * std::ceil(s.batch / v.tile_batch) * k_slices(p, v).parts;
  if (workgroups == 0)
    return {.workgroups = 0, .waves = 0, .wave_efficiency = 1, .tile_efficiency = 1};
  const double concurrent = std::max(concurrent_workgroups, 1.0);
  const double count = std::ceil(workgroups / concurrent);
  return {.workgroups = workgroups,
          .waves = count,
          .wave_efficiency = workgroups / (count * concurrent),
          .tile_efficiency = s.m * s.n / (rows * v.tile_m * columns * v.tile_n)};
}

Packing packing(const Problem& p, const Variant& v, const DeviceRates& rates) {
  const Sizes s = sizes_of(p);
  Problem one = p;
  one.m = static_cast<std::int64_t>(s.m);
  Packing packing;
  const auto add_operand = [&](Packed packed, Operand operand, double stored_bytes,
                               std::int64_t stride) {
    if (packed == Packed::kNo || stored_bytes == 0) return;
    const double matrices = s.batch > 1 && stride == 0 ? 1 : s.batch;
    const double packed_bytes = static_cast<double>(panel_words(v, one, operand)) * kElementBytes;
    const double moved = matrices * (stored_bytes + packed_bytes);
    packing.bytes += moved;
    packing.ns += rates.dispatch_ns + over(moved, gbps_for_footprint(rates, moved));
  };
  // The rows of groups are packed by groups, whatever the stride.
  add_operand(v.packed_a, Operand::kA, s.m * s.k * s.bytes_a, is_grouped(p) ? 1 : p.stride_a);
  add_operand(v.packed_b, Operand::kB, s.n * s.k * s.bytes_b, p.stride_b);
  return packing;
}

Roofline roofline(const Problem& p, const Variant& v, const DeviceRates& rates) {
  Roofline r{.traffic = traffic(p, v), .waves = waves(p, v, rates.compute_units)};
  add_math(r.bounds, p, v, rates);
  const double footprint = r.traffic.memory_bytes;
  add(r.bounds, holding_level(rates, footprint),
      over(footprint, gbps_for_footprint(rates, footprint)));
  if (rates.levels.size() > 1)
    add(r.bounds, "memory:cache", over(r.traffic.cache_bytes, cache_gbps(rates)));
  if (v.family == Family::kTiled)  // Fragments of matrix units are reused differently.
    add(r.bounds, "memory:shared", over(r.traffic.register_bytes, rates.shared_gbps));
  add(r.bounds, "latency", latency_ns(p, v, r.waves, rates));
  std::ranges::stable_sort(r.bounds, std::greater{}, &Bound::ns);
  r.levels = level_uses(p, v, r.traffic, rates);
  r.packing = packing(p, v, rates);
  r.costs = costs(p, v, rates);
  return r;
}

Limiter limiter(const Roofline& roofline) {
  // Of kernels whose two largest costs are closer than this, the model names the wrong one too
  // often (bench/results/explanations.md).
  constexpr double kTold = 1.5;
  double sum = 0;
  for (const Bound& cost : roofline.costs) sum += cost.ns;
  if (sum == 0) return {};
  const Bound &first = roofline.costs[0], &second = roofline.costs[1];
  return {.name = first.limiter,
          .other = second.ns * kTold > first.ns ? second.limiter : "",
          .ns = first.ns,
          .share = first.ns / sum};
}

Headroom headroom(const Roofline& roofline, double measured_ns) {
  const double largest = roofline.ns();
  const bool more = roofline.bounds.size() > 1;
  const double next = more ? roofline.bounds[1].ns : largest;
  return {.over_bound = largest > 0 ? measured_ns / largest : 1,
          .if_lifted = next > 0 ? largest / next : 1,
          .next = more ? roofline.bounds[1].limiter : ""};
}

double problem_bound_ns(const Problem& p, const DeviceRates& rates) {
  const double bytes = minimum_bytes(p);
  return std::max(over(flops(p), peak_gflops(rates, p.types)),
                  over(bytes, gbps_for_footprint(rates, bytes)));
}

}  // namespace rooftile
