// Calibrated rates that every prediction is based on, and their names in the database. All rates
// are measured; what is published of a GPU stands beside them and orders candidates only.
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/device_profile.h"
#include "core/figure.h"
#include "core/problem.h"
#include "core/variant.h"

namespace rooftile {

struct GpuGeneration;

/// A bandwidth plateau found by STREAM kernels. "memory" is the last level and always present after
/// a calibration.
struct MemoryLevel {
  std::string name;  ///< "cache", slower caches "cache2", ..., and "memory".
  /// Bytes read plus written by the fastest of the kernels and load paths, in GB/s.
  double gbps = 0;
  /// Largest footprint with this bandwidth; infinity for memory.
  double footprint_bytes = std::numeric_limits<double>::infinity();

  bool operator==(const MemoryLevel&) const = default;
};

/// Rates of a device. A rate of 0 was not measured and is left out of every bound and every
/// estimate.
struct DeviceRates {
  double submit_ns = 0;                  ///< Empty submission, from submit to fence.
  double dispatch_ns = 0;                ///< One more dispatch in the same submission.
  double workgroup_ns = 0;               ///< One more (empty) workgroup in the same dispatch.
  double synchronised_workgroup_ns = 0;  ///< One more workgroup of a kernel with barriers.
  /// A barrier over a workgroup's invocations, all units busy (slope over barriers).
  double barrier_ns = 0;
  double loop_overrun = 0;   ///< Extra masked iterations of a loop under divergence.
  double upload_gbps = 0;    ///< Host pointer to kernel-visible buffer, as the runtime copies it.
  double download_gbps = 0;  ///< Kernel-visible buffer to host pointer.
  /// Fixed cost of a transfer of a device-resident operand to the host or back, beyond its bytes.
  double fetch_ns = 0;
  double fma_gflops = 0;  ///< Multiply-adds of f32.
  /// Multiply-adds of f32 on sums that invocations keep across barriers.
  double synchronised_fma_gflops = 0;
  double fma_f16_gflops = 0;  ///< Multiply-adds of f16.
  double fma_f64_gflops = 0;  ///< Multiply-adds of f64.
  double dot_gflops = 0;      ///< Packed dot products of 8-bit integers.
  /// Matrix units, by the types of operands and sums, in the best of their shapes.
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
      0;  // as kernels store C: beta and edges asked for each (epilogue/store_vector.glsl)
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
  double overlap = 0;  ///< Share of the shorter one of host copies and kernels that overlap hides.
  /// What is published of the device, for the order of candidates. Not measured and not stored;
  /// null for software devices and unknown GPUs.
  const GpuGeneration* gpu = nullptr;

  bool operator==(const DeviceRates&) const = default;
};

/// Rate of a host's product measured on one problem size, not transposed, operands warm.
struct HostPoint {
  double m = 0, n = 0, k = 0;
  double gflops = 0;

  bool operator==(const HostPoint&) const = default;
};
struct HostRates {
  double call_ns = 0;     ///< Smallest BLAS call.
  double gbps = 0;        ///< Bandwidth of the STREAM triad.
  double fma_gflops = 0;  ///< Multiply-adds in registers.
  std::vector<HostPoint> gemm = {};
  /// Products of one row or column, which BLAS's matrix-vector routine computes, mostly. Empty in older
  /// calibrations, which measured them as general products: they are in `gemm`.
  std::vector<HostPoint> gemv = {};

  bool operator==(const HostRates&) const = default;
};

struct Calibration {
  DeviceRates device;
  HostRates host = {}, host1 = {}, host64 = {};  ///< All threads, one thread, float64.

  bool operator==(const Calibration&) const = default;
};

/// Conversion between rates and named figures with units: calibration_from_figures(to_figures(c))
/// == c, with levels sorted by footprint.
/// - Unknown names are ignored; missing figures stay 0 (a level's missing footprint: infinity).
/// - Only medians are converted; the caller fills in spreads.
/// - Names are such as "device.submit", "device.fma.f32", "device.level.cache.bandwidth" and
///   "host.gemm.threads.512x64x1000" (also .single, .float64) and, of one row or column,
///   "host.gemm.threads.vector.1x64x1000"; calibration.cpp has the table.
std::vector<Figure> to_figures(const Calibration& c);
Calibration calibration_from_figures(std::span<const Figure> figures);

/// Name of a point of HostRates::gemm or, if is_vector, HostRates::gemv of the tier "threads",
/// "single" or "float64".
std::string host_figure(std::string_view tier, bool is_vector, const HostPoint& point);

/// Name of a memory level of a device, fastest first: "cache", "cache2", ..., "memory".
std::string level_name(std::size_t level, std::size_t levels);

/// Whether times can be predicted: a device needs a submit time, an FMA rate and a memory level, a
/// host tier needs GEMM points.
bool is_calibrated(const DeviceRates& rates);
bool is_calibrated(const HostRates& rates);

/// Published rates in place of measured ones, as if the clock were 1 GHz: they order kernels, and
/// predict no time; is_calibrated() is false. Without the number of compute units (0) the order is
/// that of problems that fill the device.
DeviceRates published_rates(const GpuGeneration& gpu, std::uint32_t compute_units);

/// Arithmetic rate of one kernel of a problem, and the highest rate that any kernel may have (of
/// float32 without that of matrix units, where no GPU has run it yet). 0: not measured.
double math_gflops(const DeviceRates& rates, const Types& types, const Variant& v);
double peak_gflops(const DeviceRates& rates, const Types& types);

/// Name of a rate of matrix units, such as "device.matrix.f16.f32".
std::string matrix_figure(DataType operand, DataType sum);

/// Bandwidth of the slowest level, device memory, and of the fastest level that holds a footprint.
/// 0 when not measured.
double memory_gbps(const DeviceRates& rates);
double gbps_for_footprint(const DeviceRates& rates, double bytes);
/// Bandwidth of the fastest level; 0 when not measured.
double cache_gbps(const DeviceRates& rates);
/// Size of the largest cache; 0: none was found.
double cache_bytes(const DeviceRates& rates);
double peak_gflops(const HostRates& rates);  ///< Rate of the best GEMM point.

/// Device over host, each > 1 when the device is better; latency is host call over device submit.
struct CalibrationRatios {
  double compute, bandwidth, latency;
};
CalibrationRatios calibration_ratios(const Calibration& c);

/// The sizes on which a host tier is measured for HostModel, smallest first. See
/// docs/model.md for the choice.
std::vector<Problem> host_calibration_problems();

}  // namespace rooftile
