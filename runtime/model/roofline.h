// Bytes, waves, bounds and the limiter of one GEMM kernel (docs/model.md). Pure functions.
#pragma once

#include <string>
#include <vector>

#include "core/problem.h"
#include "core/variant.h"
#include "runtime/model/calibration.h"

namespace rooftile {

double arithmetic_intensity(const Problem& p);  ///< Flops / minimum bytes; 0 when nothing moves.
double ridge_intensity(double peak_gflops, double gbps);
double breakeven_flops(double submit_ns, double device_gflops);

/// A generic operation, for element-wise and reduction kernels and published tables.
struct Operation {
  double flops, bytes;
};
Operation elementwise(double elements, double flops_per_element, double arrays_read,
                      double arrays_written, double bytes_per_element);
double attainable_gflops(double intensity, double peak_gflops, double gbps);

/// In elements, times the batch, with c = 1, or 2 when beta is not 0 (matrix kernels have
/// subgroup_m and subgroup_n in place of reg_m and reg_n):
///   memory:    m k + k n + c m n
///   cache:     m k ceil(n / tile_n) + k n ceil(m / tile_m) + c m n (+ 2 split_k m n)
///   registers: m k ceil(n / reg_n) + k n ceil(m / reg_m) + c m n
struct Traffic {
  double memory_bytes;  ///< Device memory <-> cache, at least.
  /// Cache -> workgroup, and C; partial sums of split-K count in both directions.
  double cache_bytes;
  double register_bytes;  ///< Shared memory (or L1) -> registers, and C.
};
/// Exact for kernels that read only inside the matrices. Packing is not included; see packing().
Traffic traffic(const Problem& p, const Variant& v);

/// workgroups = ceil(m / tile_m) ceil(n / tile_n) ceil(batch / tile_batch) split_k,
/// waves = ceil(workgroups / concurrent), wave_efficiency = workgroups / (waves concurrent);
/// tile_efficiency is the share of all blocks of C that lies inside C.
struct Waves {
  double workgroups, waves, wave_efficiency, tile_efficiency;
};
/// Each part of split-K is a workgroup of its own; several matrices of a batch may share one.
/// concurrent_workgroups is the number that run at the same time (compute units x resident
/// workgroups of each). An empty C has 0 workgroups and efficiencies of 1.
Waves waves(const Problem& p, const Variant& v, double concurrent_workgroups);

/// Bytes and time of packing the operands before the kernel runs; 0 where nothing is packed. The
/// time is not part of the kernel's.
struct Packing {
  double bytes = 0;  ///< Operands read, packed operands written with their padding.
  double ns = 0;     ///< Lower bound.
};
Packing packing(const Problem& p, const Variant& v, const DeviceRates& rates);

/// A lower bound of a kernel's time, or a part of its predicted time.
struct Bound {
  /// "math", "memory:memory", "memory:cache" ("memory:cache2", ...), "memory:shared", "latency",
  /// "tail"; of parts of the time also "barriers", "broadcasts", "stores" and "sums" (of split-K).
  std::string limiter;
  double ns;
};

/// One diagonal of a roofline chart with the kernel's point on it.
struct LevelUse {
  std::string name;      // "shared", "cache", "memory", "host"
  double bytes = 0;      ///< Bytes that the kernel moves through it, at least.
  double intensity = 0;  ///< Flops over bytes.
  double gbps = 0;       ///< 0: not measured.
  double bound_ns = 0;   ///< Bytes over gbps.
};

struct Roofline {
  std::vector<Bound> bounds = {};  ///< Largest first, never empty.
  /// What the kernel's time is made of by the model, packing excluded: costs().
  std::vector<Bound> costs = {};
  Traffic traffic = {};
  Waves waves = {};
  /// Nearest to the registers first. "host" is the link that operands cross in a whole call; it
  /// does not bound the kernel. "shared" is present only where the kernel stages in shared memory.
  std::vector<LevelUse> levels = {};
  Packing packing = {};
  double ns() const { return bounds.front().ns; }  ///< No kernel of this shape is faster.
};
Roofline roofline(const Problem& p, const Variant& v, const DeviceRates& rates);

/// What the time of a kernel depends on most: the largest of its costs, because doubling that moves
/// the time most (docs/report.md).
struct Limiter {
  std::string name = {};  ///< Empty where nothing is calibrated.
  /// The next cost, where the model cannot tell which of both is larger; else empty.
  std::string other = {};
  double ns = 0, share = 0;  ///< The cost, and its share of all costs.
};
Limiter limiter(const Roofline& roofline);

/// Headroom of a measured time: its ratio to the largest bound, and how much faster the kernel
/// could be without that bound (down to the next one). Both are 1 for bounds of 0.
struct Headroom {
  double over_bound, if_lifted;
  std::string next = {};  ///< The limiter then; empty when there is none.
};
Headroom headroom(const Roofline& roofline, double measured_ns);

/// Tile-independent bound by math and memory only. Reports call it 100 %.
double problem_bound_ns(const Problem& p, const DeviceRates& rates);

/// The level that serves a kernel of this footprint: "memory:memory", "memory:cache", ...
std::string holding_level(const DeviceRates& rates, double bytes);

/// What a kernel's time is made of by the model, largest first, each name once. Packing is
/// excluded: its time is not the kernel's. Costs are work over measured rates and no lower bounds.
std::vector<Bound> costs(const Problem& p, const Variant& v, const DeviceRates& rates);

/// Relative cost, packing included, that ranks candidates before any is measured. It scales like ns
/// but is no prediction.
double analytical_ns(const Problem& p, const Variant& v, const DeviceRates& rates);

}  // namespace rooftile
