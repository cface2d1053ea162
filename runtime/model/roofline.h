// Bytes, waves, bounds and the limiter of one GEMM kernel (docs/roofline.md). Pure functions.
#pragma once

#include <string>
#include <vector>

#include "core/problem.h"
#include "core/variant.h"
#include "runtime/model/calibration.h"

namespace rooftile {

double arithmetic_intensity(const Problem& p);  // flops / minimum bytes; 0 when nothing moves
/// 2 m n k over A, B and C once each, for element types that kernels do not have (yet): f16 is 2
/// bytes.
double gemm_intensity(double m, double n, double k, double bytes_per_element);
double ridge_intensity(double peak_gflops, double gbps);
double breakeven_flops(double submit_ns, double device_gflops);

/// Generic operations, for element-wise and reduction kernels and published tables.
struct Operation {
  double flops, bytes;
};
Operation elementwise(double elements, double flops_per_element, double arrays_read,
                      double arrays_written, double bytes_per_element);
double attainable_gflops(double intensity, double peak_gflops, double gbps);

struct Traffic {
  double memory_bytes;    // device memory <-> cache, at least
  double cache_bytes;     // cache -> workgroup, and C; the parts of a split product both ways
  double register_bytes;  // shared memory (or L1) -> registers, and C
};
/// Exact for kernels that read only what lies inside the matrices; packing not counted: packing().
Traffic traffic(const Problem& p, const Variant& v);

struct Waves {
  double workgroups, waves, wave_efficiency, tile_efficiency;
};
/// Parts of a split product are workgroups of their own, several products of a batch may share one.
/// concurrent_workgroups: how many run at the same time (compute units x resident workgroups of
/// each). An empty C has 0 workgroups and efficiencies of 1.
Waves waves(const Problem& p, const Variant& v, double concurrent_workgroups);

/// What packing the operands moves before the kernel runs; 0 where nothing is packed. Its time is
/// no part of a kernel's.
struct Packing {
  double bytes = 0;  // operands read, panels written with their padding
  double ns = 0;     // at least
};
Packing packing(const Problem& p, const Variant& v, const DeviceRates& rates);

struct Bound {
  std::string limiter;  // "math", "memory:memory", "memory:cache" ("memory:cache2", ...),
                        // "memory:shared", "latency", "tail"
  double ns;
};

/// One diagonal of a roofline chart with the kernel's dot on it.
struct LevelUse {
  std::string name;      // "shared", "cache", "memory", "host"
  double bytes = 0;      // that the kernel moves through it, at least
  double intensity = 0;  // flops over bytes
  double gbps = 0;       // 0: not measured
  double bound_ns = 0;   // bytes over gbps
};

struct Roofline {
  std::vector<Bound> bounds = {};  // largest first, never empty
  Traffic traffic = {};
  Waves waves = {};
  // Nearest to the registers first. "host" is the link that operands cross in a whole call: it is
  // no bound of the kernel. "shared" only where the kernel stages in it.
  std::vector<LevelUse> levels = {};
  Packing packing = {};
  double ns() const { return bounds.front().ns; }  // no kernel of this shape is faster
};
Roofline roofline(const Problem& p, const Variant& v, const DeviceRates& rates);

/// What a report says about a measured time: how far above the largest bound it is, and how much
/// faster the kernel could be once that one is lifted (down to the next bound). Both 1 for bounds
/// of 0.
struct Headroom {
  double over_bound, if_lifted;
  std::string next = {};  // the limiter then; empty when there is none
};
Headroom headroom(const Roofline& roofline, double measured_ns);

/// Tile-independent bound: math and memory only. What a report calls 100 %.
double problem_bound_ns(const Problem& p, const DeviceRates& rates);

/// Relative cost used to rank candidates before any is measured; ns scale but not a promise.
/// Packing included.
double analytical_ns(const Problem& p, const Variant& v, const DeviceRates& rates);

}  // namespace rooftile
