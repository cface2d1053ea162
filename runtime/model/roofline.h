// Bytes, waves, bounds and the limiter of one GEMM kernel (docs/roofline.md). Pure functions.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "core/problem.h"
#include "core/variant.h"
#include "runtime/model/calibration.h"

namespace rooftile {

double arithmetic_intensity(const Problem& p);  // flops / minimum bytes
double ridge_intensity(double peak_gflops, double gbps);
double breakeven_flops(double submit_ns, double device_gflops);
/// Infinity when the device's bandwidth is not above the host's.
double breakeven_elements(double overhead_ns, double host_gbps, double device_gbps, double bytes_per_element);

/// Generic operations, for element-wise and reduction kernels and the source's tables.
struct Operation {
  double flops, bytes;
};
Operation elementwise(double elements, double flops_per_element, double arrays_read, double arrays_written,
                      double bytes_per_element);
double attainable_gflops(double intensity, double peak_gflops, double gbps);

struct Traffic {
  double memory_bytes;    // device memory <-> cache, at least
  double cache_bytes;     // cache -> workgroup
  double register_bytes;  // shared memory (or L1) -> registers
};
Traffic traffic(const Problem& p, const Variant& v);

struct Waves {
  double workgroups, waves, wave_efficiency, tile_efficiency;
};
Waves waves(const Problem& p, const Variant& v, double concurrent_workgroups);

struct Bound {
  std::string limiter;  // "math", "memory:memory", "memory:cache", "memory:shared", "latency", "tail"
  double ns;
};
struct Roofline {
  std::vector<Bound> bounds;  // largest first
  Traffic traffic;
  Waves waves;
  double ns() const { return bounds.front().ns; }  // no kernel of this shape is faster
};
Roofline roofline(const Problem& p, const Variant& v, const DeviceRates& rates);

/// Tile-independent bound: math and memory only. What a report calls 100 %.
double problem_bound_ns(const Problem& p, const DeviceRates& rates);

/// Relative cost used to rank candidates before any is measured; ns scale but not a promise.
double analytical_ns(const Problem& p, const Variant& v, const DeviceRates& rates);

}  // namespace rooftile
