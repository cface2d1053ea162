// The calibrated numbers that every prediction rests on, and their names in the database. All rates
// are measured.
#pragma once

#include <limits>
#include <span>
#include <string>
#include <vector>

#include "core/device_profile.h"
#include "core/figure.h"
#include "core/problem.h"
#include "core/variant.h"

namespace rooftile {

/// A bandwidth plateau found by STREAM kernels: "memory" is last and always there once calibrated.
struct MemoryLevel {
  std::string name;  // "cache", slower ones "cache2", ..., "memory"
  double gbps = 0;   // bytes read plus written, by the fastest of the kernels and load paths
  double footprint_bytes = std::numeric_limits<double>::infinity();  // largest footprint at which
                                                                     // it held; infinity for memory

  bool operator==(const MemoryLevel&) const = default;
};

/// A rate of 0 was not measured: what would need it is left out of every bound and every estimate.
struct DeviceRates {
  double submit_ns = 0;                  // empty submit to fence
  double dispatch_ns = 0;                // one more dispatch in the same submit
  double workgroup_ns = 0;               // one more (empty) workgroup in the same dispatch
  double synchronised_workgroup_ns = 0;  // of a kernel that has barriers
  double barrier_ns = 0;     // a barrier over its invocations, all units busy (slope over barriers)
  double loop_overrun = 0;   // trips that a loop is run beyond its last one
  double upload_gbps = 0;    // host pointer to kernel-visible buffer, as the runtime copies it
  double download_gbps = 0;  // and back
  double fetch_ns = 0;       // an operand on the device to the host, or back, beyond its bytes
  double fma_gflops = 0;     // f32
  double synchronised_fma_gflops = 0;  // f32, on sums that invocations keep across barriers
  double fma_f16_gflops = 0;           // multiply-adds of f16
  double dot_gflops = 0;               // packed dot products of 8-bit integers
  // Matrix units, by the types of operands and sums, in the best of their shapes.
  double matrix_f16_gflops = 0, matrix_f16_f16_gflops = 0, matrix_bf16_gflops = 0,
         matrix_i8_gflops = 0, matrix_u8_gflops = 0;
  double shared_gbps = 0;  // shared memory, all compute units together
  double buffer_loads_per_ns =
      0;  // scalar storage-buffer loads that hit a cache, one an invocation, all units
  double buffer_vector_loads_per_ns = 0;   // the same with vec4 loads: loads, not elements
  double texel_loads_per_ns = 0;           // uniform texel buffer, one component
  double texel_vector_loads_per_ns = 0;    // uniform texel buffer, four components
  std::vector<MemoryLevel> levels = {};    // fastest first
  double buffer_stores_per_ns = 0;         // scalar stores that hit a cache, as loads are counted
  double buffer_vector_stores_per_ns = 0;  // vec4: stores, not elements
  double c_stores_per_ns =
      0;  // as kernels store C: beta and edges asked for each (store_vector.glsl)
  double c_vector_stores_per_ns = 0;  // vec4: stores, not elements
  double broadcasts_per_ns = 0;  // vec4 from a lane to its subgroup, one an invocation, all units
  double load_latency_ns = 0;    // from a load that hits a cache to the next that needs it
  double compute_units = 1;      // as the driver says, else workgroups that run at once
  // The host's own memory as a buffer, for one call: importing the least that can be, each further
  // byte, what the device copies from it and to it, importing counted, and what a kernel pays more
  // for each byte that it reads or writes there than in the device's memory. 0 ns: it cannot be
  // imported.
  double import_ns = 0, import_growth_ns = 0;
  double import_upload_gbps = 0, import_download_gbps = 0;
  double import_read_extra_ns = 0, import_write_extra_ns = 0;
  double overlap = 0;  // share of the shorter one that host's copies and kernels hide of each other
  bool zero_copy =
      false;  // host pointers are imported: nothing is copied, whatever upload_gbps says

  bool operator==(const DeviceRates&) const = default;
};

/// Host GEMM rate measured on one problem size, not transposed, operands warm.
struct HostPoint {
  double m = 0, n = 0, k = 0;
  double gflops = 0;

  bool operator==(const HostPoint&) const = default;
};
struct HostRates {
  double call_ns = 0;     // smallest BLAS call
  double gbps = 0;        // triad
  double fma_gflops = 0;  // multiply-adds in registers
  std::vector<HostPoint> gemm = {};

  bool operator==(const HostRates&) const = default;
};

struct Calibration {
  DeviceRates device;
  HostRates host = {}, host1 = {}, host64 = {};  // all threads, one thread, float64

  bool operator==(const Calibration&) const = default;
};

/// Names, units and values both ways; calibration_from_figures(to_figures(c)) == c (levels sorted
/// by footprint). Unknown names are ignored; what is missing stays 0 (a level's missing footprint:
/// infinity). Medians only: spreads are the caller's to fill in. Names: "device.submit",
/// "device.fma.f32", "device.level.cache.bandwidth", "host.gemm.threads.512x64x1000" (also .single,
/// .float64); calibration.cpp has the table.
std::vector<Figure> to_figures(const Calibration& c);
Calibration calibration_from_figures(std::span<const Figure> figures);

/// Names of a device's memory levels, fastest first: "cache", "cache2", ..., "memory".
std::string level_name(std::size_t level, std::size_t levels);

/// A device without submit time, FMA rate or memory level cannot be predicted; nor can a host tier
/// without GEMM points.
bool is_calibrated(const DeviceRates& rates);
bool is_calibrated(const HostRates& rates);

/// Arithmetic of one kernel of a problem, and the fastest that any kernel may have. 0: not
/// measured.
double math_gflops(const DeviceRates& rates, const Types& types, const Variant& v);
double peak_gflops(const DeviceRates& rates, const Types& types);

/// The name of a figure of matrix units: "device.matrix.f16.f32".
std::string matrix_figure(DataType operand, DataType sum);

/// The slowest level: device memory. The level that holds a footprint: the fastest one large
/// enough. 0 when not measured.
double memory_gbps(const DeviceRates& rates);
double gbps_for_footprint(const DeviceRates& rates, double bytes);
/// The fastest level: 0 when not measured.
double cache_gbps(const DeviceRates& rates);
/// Of the largest cache; 0: none was found.
double cache_bytes(const DeviceRates& rates);
double peak_gflops(const HostRates& rates);  // best GEMM point

/// Device : host, each > 1 when the device is better; latency is host call over device submit.
struct CalibrationRatios {
  double compute, bandwidth, latency;
};
CalibrationRatios calibration_ratios(const Calibration& c);

/// The sizes on which a host tier is measured for HostModel, smallest first. See
/// docs/dispatch-score.md for the choice.
std::vector<Problem> host_calibration_problems();

}  // namespace rooftile
